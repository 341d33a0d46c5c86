-- One row for each event by date of the APIs after v0 (source), which name their settlements: of each API those before the account's
-- first day of a newer one.
SELECT source, account, event_id, content_hash, group_id, settlement_id, window_start, window_end
FROM (
  $later_events
)
