-- One row for each event, and for each `event_id` of entries that is none of the bundle's events: its bundle, its text (null: no event) and
-- its JSON; the texts of its entries with commas between, and the number of one of their files.
SELECT bundle, event_id, event_texts.text AS event, raw, entries_.texts AS entries, file
FROM event_texts
FULL JOIN (
  SELECT bundle, event_id, string_agg(text, ',') AS texts, max(file) AS file
  FROM entry_texts
  GROUP BY bundle, event_id
) AS entries_ USING (bundle, event_id)
ORDER BY bundle, event_id
