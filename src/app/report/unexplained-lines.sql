-- One row for each of an account's largest differences of settlement reports that nothing explains, at most $most of a currency.
SELECT coalesce(difference_.currency, '') AS currency, settlement_id, source, order_id, posted_on, name, report_amount, lake_amount,
  difference, array_to_string(report_lines[:10], ', ') AS lines
FROM settlement_differences AS difference_ JOIN settlement_reports AS report_ USING (account, settlement_id)
WHERE account = $account AND reason = 'unexplained' AND started_at < $to AND ended_at >= $from
QUALIFY row_number() OVER (PARTITION BY difference_.currency ORDER BY abs(difference) DESC, settlement_id, source, posted_on, order_id) <= $most
ORDER BY currency, abs(difference) DESC, settlement_id, source, posted_on, order_id
