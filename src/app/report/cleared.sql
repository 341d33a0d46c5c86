-- One row for each currency and line of clearing in a range of an account, and two for what was open at its beginning and at its end.
WITH moved AS (
  SELECT coalesce(currency, '') AS currency, CASE WHEN effective_at < $from THEN 'open at the beginning' ELSE line END AS line,
    sum(amount) AS amount
  FROM clearing
  WHERE account = $account AND effective_at < $to
  GROUP BY ALL
)
SELECT currency, line, amount FROM moved
UNION ALL
SELECT currency, 'open at the end', sum(amount) FROM moved GROUP BY currency
