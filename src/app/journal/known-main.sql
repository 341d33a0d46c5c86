-- The rows of $table, a main table of windows, as the lake held them at $known_at: of their windows what was loaded by then.
SELECT known_.* EXCLUDE (raw) REPLACE (
  coalesce(make_timestamptz(1000 * starts_), known_.window_start) AS window_start,
  coalesce(make_timestamptz(1000 * ends_), known_.window_end) AS window_end
)
FROM $table_as_known($known_at) AS known_
  LEFT JOIN (
    SELECT account AS account_, window_start AS start_, window_end AS end_, min(starts_at) AS starts_, max(ends_at) AS ends_
    FROM loaded_spans()
    WHERE source = '$table' AND since <= epoch_ms($known_at)
    GROUP BY ALL
  ) ON account_ = account AND start_ = epoch_ms(known_.window_start) AND end_ = epoch_ms(known_.window_end)
