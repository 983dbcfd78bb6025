"""What workflows have done in the world: one class a concern, ports through the constructor. They know no adapter."""
