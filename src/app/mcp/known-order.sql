-- One row for each account and table that has amounts of the order $id, or lines of its settlement reports.
SELECT account, 'entries' AS found_in, count(*) AS amounts FROM entries WHERE amazon_order_id = $id GROUP BY account
UNION ALL
SELECT account, 'group_entries', count(*) FROM group_entries WHERE amazon_order_id = $id GROUP BY account
UNION ALL
SELECT account, 'transaction_entries', count(*) FROM transaction_entries WHERE amazon_order_id = $id GROUP BY account
UNION ALL
SELECT account, 'settlement_lines', count(*) FROM settlement_lines WHERE order_id = $id GROUP BY account
ORDER BY ALL
