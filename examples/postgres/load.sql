-- Applies a file of `ledgerlake changes` in one transaction: rows that went, rows that came, and the version to go on from. So what is
-- killed leaves the tables as they were, and nothing is applied twice. Variables: `since`, the version that the tables had, or empty.
begin;
lock table ledgerlake_version in exclusive mode;
create temporary table lines (line jsonb) on commit drop;
-- Each line is one value: these bytes are in no JSON.
\copy lines from pstdin with (format csv, quote e'\x01', delimiter e'\x02')

-- Another load may have been faster, and a file without its last line is incomplete: then a division by zero ends the transaction.
select 1 / count(*) as is_next
from (select coalesce(max(version || ':' || hash), '') as has from ledgerlake_version) as newest
where has = :'since' and (select count(*) from lines where line ? '_version') = 1
\gset

delete from entries
using lines
where line ->> '_table' = 'entries' and line ->> '_change_type' = 'delete'
  and account = line ->> 'account' and event_id = line ->> 'event_id' and entry = (line ->> 'entry')::integer;
delete from events
using lines
where line ->> '_table' = 'events' and line ->> '_change_type' = 'delete'
  and account = line ->> 'account' and event_id = line ->> 'event_id';

insert into events
select rows.*
from lines, jsonb_populate_record(null::events, line) as rows
where line ->> '_table' = 'events' and line ->> '_change_type' = 'insert';
insert into entries
select rows.*
from lines, jsonb_populate_record(null::entries, line) as rows
where line ->> '_table' = 'entries' and line ->> '_change_type' = 'insert';

insert into ledgerlake_version (version, hash)
select (line ->> '_version')::bigint, line ->> '_hash' from lines where line ? '_version'
on conflict (only_row) do update set version = excluded.version, hash = excluded.hash;
commit;
