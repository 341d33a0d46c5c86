-- The tables of verify's session: a few numbers and ids for each event, net sums and totals, which are compared across files.
-- The rows of a file `TABLE.sql` or `TABLE-of-….sql` beside this one are added to its table.

CREATE TABLE seen (
  tab VARCHAR, account VARCHAR, file INTEGER, id VARCHAR, content UHUGEINT, instant BIGINT, dated BOOLEAN, inside BOOLEAN,
  group_id VARCHAR, position BIGINT, currency VARCHAR
);
CREATE TABLE nets (
  tab VARCHAR, account VARCHAR, group_id VARCHAR, settlement_id VARCHAR, currency VARCHAR, net DECIMAL(38,6), inexact BIGINT, unknown BIGINT
);
-- settlements: the rows of `settlements.sql`, with the number of their file.
CREATE TABLE settlements (
  file INTEGER, group_id VARCHAR, processing_status VARCHAR, started BIGINT, ended BIGINT, total VARCHAR, original_currency VARCHAR,
  beginning VARCHAR, beginning_currency VARCHAR, fund_transfer_status VARCHAR, paid BIGINT, trace_id VARCHAR, converted_total VARCHAR,
  converted_currency VARCHAR
);
CREATE TABLE totals (
  tab VARCHAR, account VARCHAR, file INTEGER, id VARCHAR, starts BIGINT, ends BIGINT, total VARCHAR, currency VARCHAR
);
CREATE TABLE unsummed (tab VARCHAR, currency VARCHAR, amounts BIGINT);
-- compared: one row for each settlement whose events are compared with those by date.
--
-- starts, ends: its time in milliseconds since 1970; alone: whether all settlements of its time and currency are loaded.
CREATE TABLE compared (account VARCHAR, group_id VARCHAR, currency VARCHAR, starts BIGINT, ends BIGINT, alone BOOLEAN);
-- covered: one row for each span of an account that is read by date.
--
-- starts, ends: in milliseconds since 1970.
CREATE TABLE covered (account VARCHAR, starts BIGINT, ends BIGINT);
