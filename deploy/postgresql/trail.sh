#!/bin/sh
# The trail's database and its two logins, made once, when the server is: the owner makes tables, the other only uses
# them (docs/operating.md). Temporal's own databases are made by temporal/schema.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" \
  --set owner_password="$TRAIL_OWNER_PASSWORD" --set password="$TRAIL_PASSWORD" <<'SQL'
CREATE ROLE countersign_owner LOGIN CREATEROLE PASSWORD :'owner_password';
CREATE ROLE countersign LOGIN PASSWORD :'password';
CREATE DATABASE countersign OWNER countersign_owner;
SQL
