-- The tables that load.sh keeps, and the version of the lake that they have. Any columns of docs/tables.md may be added, before the first
-- load, but for those that load.sh excludes: load.sql finds them by their names.
set client_min_messages = warning;

create table if not exists events (
  account text not null,
  event_id text not null,
  event_list text,
  posted_at timestamptz,
  effective_at timestamptz,
  amazon_order_id text,
  marketplace text,
  raw text,
  primary key (account, event_id)
);
create table if not exists entries (
  account text not null,
  event_id text not null,
  entry integer not null,
  effective_at timestamptz,
  amazon_order_id text,
  sku text,
  kind text,
  name text,
  role text,
  amount numeric(18, 6),
  currency text,
  primary key (account, event_id, entry)
);
create table if not exists ledgerlake_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null,
  hash text not null
);
