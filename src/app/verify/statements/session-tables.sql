-- The tables of verify's session: a few numbers and ids for each event, and net sums, which are compared across files.
--
-- seen: the rows of `seen.sql`.
CREATE TABLE seen (
  tab VARCHAR, account VARCHAR, file INTEGER, id VARCHAR, content UHUGEINT, instant BIGINT, dated BOOLEAN, inside BOOLEAN,
  group_id VARCHAR, position BIGINT, currency VARCHAR
);
-- nets: the rows of `nets.sql`.
CREATE TABLE nets (account VARCHAR, group_id VARCHAR, currency VARCHAR, net DECIMAL(38,6), inexact BIGINT, unknown BIGINT);
-- paid: the rows of `paid.sql`.
CREATE TABLE paid (
  account VARCHAR, group_id VARCHAR, settlement_id VARCHAR, currency VARCHAR, net DECIMAL(38,6), inexact BIGINT, unknown BIGINT
);
-- compared: one row for each settlement whose events are compared with those by date.
--
-- starts, ends: its time in milliseconds since 1970; alone: whether all settlements of its time and currency are loaded.
CREATE TABLE compared (account VARCHAR, group_id VARCHAR, currency VARCHAR, starts BIGINT, ends BIGINT, alone BOOLEAN);
-- covered: one row for each span of an account that is read by date.
--
-- starts, ends: in milliseconds since 1970.
CREATE TABLE covered (account VARCHAR, starts BIGINT, ends BIGINT);
