-- The rows of $table that the lake held at known_at: those of now, without events of which no part of the window was loaded by then and
-- events that appeared later, and those of the events that have vanished since.
CREATE OR REPLACE MACRO $table_as_known(known_at) AS TABLE
WITH loaded_ AS (
  SELECT * FROM loaded_spans() WHERE source = '$main' AND since <= epoch_ms(CAST(known_at AS TIMESTAMPTZ))
), first_ AS (
  -- The first change of each event after that instant, which shows whether it was present then. One that has moved has vanished and
  -- appeared at once.
  SELECT account, event_id, bool_or(change = 'vanished') AS has_vanished, bool_or(change = 'appeared') AS has_appeared
  FROM (
    FROM event_history
    WHERE source = '$main' AND seen_at > CAST(known_at AS TIMESTAMPTZ)
    QUALIFY rank() OVER (PARTITION BY account, event_id ORDER BY seen_at) = 1
  )
  GROUP BY account, event_id
), unloaded_ AS (
  -- The instant of an event may lie outside of its window.
  SELECT account, event_id
  FROM $main AS found_
  WHERE NOT EXISTS (
    FROM loaded_
    WHERE loaded_.account = found_.account
      AND epoch_ms(greatest(found_.window_start, least(found_.effective_at, found_.window_end - INTERVAL 1 MICROSECOND)))
        BETWEEN loaded_.starts_at AND loaded_.ends_at - 1
      AND loaded_.window_start = epoch_ms(found_.window_start) AND loaded_.window_end = epoch_ms(found_.window_end)
  )
), gone_ AS (
  -- Events that were present then and are absent now, or lie elsewhere, as they were when they first vanished.
  SELECT *
  FROM event_history AS past_
  WHERE source = '$main' AND change = 'vanished' AND seen_at > CAST(known_at AS TIMESTAMPTZ)
    AND EXISTS (
      FROM first_
      WHERE has_vanished AND first_.account = past_.account AND first_.event_id = past_.event_id
        AND (
          has_appeared
          OR NOT EXISTS (FROM $main AS now_ WHERE now_.account = past_.account AND now_.event_id = past_.event_id)
        )
    )
    -- Its window may have become a part of another one since.
    AND EXISTS (
      FROM loaded_
      WHERE NOT is_imported AND loaded_.account = past_.account
        AND epoch_ms(greatest(past_.window_start, least(past_.effective_at, past_.window_end - INTERVAL 1 MICROSECOND)))
          BETWEEN loaded_.starts_at AND loaded_.ends_at - 1
    )
  QUALIFY row_number() OVER (PARTITION BY account, event_id ORDER BY seen_at) = 1
)
SELECT * FROM (
  SELECT rows_.*
  FROM $table AS rows_
    LEFT JOIN first_ USING (account, event_id)
  WHERE has_appeared IS DISTINCT FROM true
    AND NOT EXISTS (FROM unloaded_ WHERE unloaded_.account = rows_.account AND unloaded_.event_id = rows_.event_id)
  UNION ALL BY NAME
  $vanished
)
