-- The tables of a month's union, over `staged_events` (the events of the inputs' files, `file` and `row` numbered, with their `input`, and
-- in `nth_in_id` the `nth` that their id has), `stored_events` (what the lake has of their days) and `loaded_windows`.
--
-- next_positions: one row for each day of which the lake has imported events; next_position: in that day.
CREATE OR REPLACE TEMP TABLE next_positions AS
SELECT window_start, max(position) + 1 AS next_position
FROM stored_events
WHERE window_end - window_start = INTERVAL 24 HOUR
GROUP BY ALL;
-- compared_events: one row for each staged event that isn't the only one of its content, or that is of a loaded window.
--
-- nth: which one it is of equal events of its input; times: how many of them the lake has; is_double: whether an input before has the
-- content; is_kept: whether it is added.
CREATE OR REPLACE TEMP TABLE compared_events AS
WITH
  stored_ AS (SELECT content_hash, count(*) AS times FROM stored_events WHERE posted_at IS NOT NULL GROUP BY ALL),
  repeated_ AS (
    SELECT content_hash FROM staged_events GROUP BY ALL HAVING count(*) > 1
    UNION ALL
    SELECT content_hash FROM stored_
  ),
  staged_ AS (
    SELECT
      file, input, row, nth_in_id, content_hash, window_start,
      EXISTS (FROM loaded_windows WHERE posted_at >= window_starts AND posted_at < window_ends) AS is_loaded
    FROM staged_events
  ),
  numbered_ AS (
    SELECT *, row_number() OVER (PARTITION BY input, content_hash ORDER BY file, row) AS nth
    FROM staged_
    WHERE is_loaded OR content_hash IN (SELECT content_hash FROM repeated_)
  ),
  -- Of equal events with the same `nth` the first input's is added.
  turns_ AS (
    SELECT
      numbered_.*,
      coalesce(times, 0) AS times,
      row_number() OVER (PARTITION BY content_hash, nth ORDER BY input) AS turn_,
      coalesce(min(input) FILTER (NOT is_loaded) OVER (PARTITION BY content_hash) < input, false) AS is_double
    FROM numbered_ LEFT JOIN stored_ USING (content_hash)
  )
SELECT * EXCLUDE (content_hash, turn_), NOT is_loaded AND nth > times AND turn_ = 1 AS is_kept
FROM turns_;
