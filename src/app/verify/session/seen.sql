-- One row for each event or transaction of `read_events`, the rows of files with the table (`tab`), whose entries are `read_entries`.
--
-- file: the number of its file; content: its hash; instant: its date in milliseconds since 1970; dated: whether the
-- service gave it one; inside: whether its window has it; currency: that of all of its entries, null for none or several.
SELECT tab, account, "source file" AS file, event_id AS id, md5_number(content_hash) AS content,
  epoch_ms(effective_at) AS instant, posted_at IS NOT NULL AS dated,
  tab <> 'events' OR posted_at IS NULL OR (posted_at >= window_start AND posted_at < window_end) AS inside,
  group_id, position, known.currency
FROM read_events LEFT JOIN (
  SELECT event_id, min(currency) AS currency
  FROM read_entries
  GROUP BY event_id
  HAVING count(DISTINCT currency) = 1
) AS known USING (event_id)
