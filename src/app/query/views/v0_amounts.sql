-- One row for each amount of v0 before the account's first instant of loaded transactions, of every role, with its category. The
-- columns are those of transaction_amounts without the bases.
WITH events_ AS (
  -- The events of v0 in the window in which transactions begin. Those without a date are before that instant, unless a transaction
  -- matches them: by order, currency and sum, after the events with a date (see `undated-events.ts`).
  SELECT account, event_id, posted_at IS NULL AS is_undated_, first_at, window_end
  FROM events JOIN loaded_transactions USING (account)
  WHERE window_start < first_at AND window_end > first_at AND (posted_at IS NULL OR posted_at >= first_at)
), v0_ AS (
  SELECT account, event_id, is_undated_, first_at, window_end, amazon_order_id, currency, sum(amount) AS sum_
  FROM entries JOIN events_ USING (account, event_id)
  WHERE role = 'net'
  GROUP BY ALL
), later_ AS (
  SELECT account, event_id, effective_at, amazon_order_id, currency, sum(amount) AS sum_
  FROM transaction_entries_paid
  WHERE role = 'net'
  GROUP BY ALL
), numbered_ AS (
  SELECT *, row_number() OVER (
    PARTITION BY account, window_end, amazon_order_id, currency, sum_ ORDER BY is_undated_, event_id
  ) AS number_
  FROM v0_
), matched_ AS (
  SELECT numbered_.account AS account_, numbered_.event_id AS event_id_, numbered_.currency AS currency_,
    count(later_.event_id) >= any_value(number_) AS is_later_
  FROM numbered_ LEFT JOIN later_ ON later_.account = numbered_.account
    AND later_.currency IS NOT DISTINCT FROM numbered_.currency
    AND later_.sum_ = numbered_.sum_
    AND later_.amazon_order_id IS NOT DISTINCT FROM numbered_.amazon_order_id
    AND later_.effective_at >= first_at
    AND later_.effective_at < window_end
  WHERE is_undated_
  GROUP BY ALL
)
SELECT
  account,
  CASE WHEN time_zone() = 'UTC' THEN month ELSE month_of(effective_at) END AS month,
  effective_at, event_id, entry, marketplace_id, amazon_order_id, sku, path, kind, role, amount, amount_text, currency,
  event_list, name, group_id,
  category_of(event_list, kind, name) AS category,
  CAST(NULL AS VARCHAR) AS charge,
  name AS part,
  item, quantity
FROM entries
  LEFT JOIN loaded_transactions USING (account)
  LEFT JOIN matched_ ON account_ = account AND event_id_ = event_id AND currency_ IS NOT DISTINCT FROM currency
WHERE first_at IS NULL OR coalesce(NOT is_later_, effective_at < first_at)
