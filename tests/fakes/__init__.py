"""Stand-ins for the ports, one module a port."""
