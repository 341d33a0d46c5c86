#!/bin/sh
# Keeps tables of PostgreSQL equal to those of a lake: each change once, whatever dies in between. Run it behind `ledgerlake sync`.
#
#   sh load.sh [LAKE]
#
# psql connects as PGHOST, PGUSER, PGDATABASE … say. The lake needs the setting `retentionHours`, longer than the time between two loads.
set -eu
lake=${1:-data/lake}
here=$(dirname "$0")
ledgerlake=${LEDGERLAKE:-npx ledgerlake}
psql="psql --no-psqlrc --quiet --set ON_ERROR_STOP=1"

$psql --file "$here/tables.sql"
since=$($psql --tuples-only --no-align --command "select version || ':' || hash from ledgerlake_version")
changes=$(mktemp)
trap 'rm -f "$changes"' EXIT
$ledgerlake changes --lake "$lake" ${since:+--since "$since"} --table events --table entries \
  --exclude position,window_start,window_end --output "$changes" --format ndjson
$psql --set since="$since" --file "$here/load.sql" < "$changes"
