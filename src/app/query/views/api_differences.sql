-- One row for each order and each settlement (subject, id) whose sums differ between v0 and the paid basis of transactions, over the
-- time for which both are loaded.
--
-- v0, transactions: the two sums; difference: the second less the first; reason: deferred, not there at all, late, other. A settlement
-- has the reason of its order that differs most, if one differs.
WITH spans_ AS (
  SELECT account, greatest(v0_.first_, first_at) AS first_, least(v0_.last_, last_at) AS last_
  FROM (SELECT account, min(window_start) AS first_, max(window_end) AS last_ FROM events GROUP BY account) AS v0_
    JOIN loaded_transactions USING (account)
), v0_orders_ AS (
  -- Of the shared time, and of everything that is loaded.
  SELECT account, amazon_order_id AS id, currency,
    sum(amount) FILTER (effective_at >= first_ AND effective_at < last_) AS sum_, sum(amount) AS all_, max(effective_at) AS newest_
  FROM entries JOIN spans_ USING (account)
  WHERE role = 'net' AND amazon_order_id IS NOT NULL
  GROUP BY account, amazon_order_id, currency
), later_orders_ AS (
  SELECT account, amazon_order_id AS id, currency,
    sum(amount) FILTER (effective_at >= first_ AND effective_at < last_) AS sum_, sum(amount) AS all_, max(effective_at) AS newest_
  FROM transaction_entries_paid JOIN spans_ USING (account)
  WHERE role = 'net' AND amazon_order_id IS NOT NULL
  GROUP BY account, amazon_order_id, currency
), orders_ AS (
  SELECT account, id, currency,
    coalesce(v0_.sum_, 0::DECIMAL(38,6)) AS v0,
    coalesce(later_.sum_, 0::DECIMAL(38,6)) AS transactions,
    v0_.all_ IS NOT DISTINCT FROM later_.all_ AS is_equal_,
    v0_.id IS NULL OR later_.id IS NULL AS is_absent_,
    greatest(v0_.newest_, later_.newest_) AS newest_
  FROM v0_orders_ AS v0_ FULL JOIN later_orders_ AS later_ USING (account, id, currency)
), deferred_ AS (
  SELECT DISTINCT account, amazon_order_id AS id FROM transactions WHERE status = 'DEFERRED'
), order_differences_ AS (
  SELECT account, id, currency, v0, transactions, transactions - v0 AS difference, newest_,
    CASE
      WHEN deferred_.id IS NOT NULL THEN 'deferred'
      -- The newest two days of an API may be incomplete.
      WHEN is_equal_ OR newest_ > last_ - INTERVAL '48 hours' THEN 'late'
      WHEN is_absent_ THEN 'not there at all'
      ELSE 'other'
    END AS reason
  FROM orders_ JOIN spans_ USING (account) LEFT JOIN deferred_ USING (account, id)
  WHERE v0 <> transactions
), settlements_ AS (
  -- Those that lie wholly within the shared time.
  SELECT account, group_id AS id, original_currency AS currency, started_at, ended_at,
    CAST(original_total - coalesce(beginning_balance, 0) AS DECIMAL(38,6)) AS sum_
  FROM groups JOIN spans_ USING (account)
  WHERE processing_status = 'Closed' AND original_total IS NOT NULL AND started_at >= first_ AND ended_at <= last_
), paid_ AS (
  SELECT account, group_id AS id, currency, sum(amount) AS sum_
  FROM transaction_entries_paid
  WHERE role = 'net'
  GROUP BY account, group_id, currency
), both_ AS (
  SELECT account, id, currency, started_at, ended_at,
    coalesce(v0_.sum_, 0::DECIMAL(38,6)) AS v0,
    coalesce(later_.sum_, 0::DECIMAL(38,6)) AS transactions,
    later_.id IS NULL AS is_absent_
  FROM settlements_ AS v0_ LEFT JOIN paid_ AS later_ USING (account, id, currency)
)
SELECT account, 'order' AS subject, * EXCLUDE (account, newest_) FROM order_differences_
UNION ALL
SELECT account, 'settlement', id, currency, v0, transactions, transactions - v0,
  CASE
    WHEN is_absent_ THEN 'not there at all'
    ELSE coalesce(
      (
        SELECT arg_max(reason, abs(difference))
        FROM order_differences_ AS of_
        WHERE of_.account = both_.account AND of_.currency = both_.currency
          AND of_.newest_ >= started_at AND of_.newest_ < ended_at
      ),
      CASE WHEN ended_at > last_ - INTERVAL '48 hours' THEN 'late' ELSE 'other' END
    )
  END
FROM both_ JOIN spans_ USING (account)
WHERE v0 <> transactions
