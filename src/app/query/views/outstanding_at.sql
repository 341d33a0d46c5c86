-- One row for each transaction that was earned before an instant and not paid by then: earned_at, paid_at (later, or null), maturity_at
-- and its total_amount. An instant after the last loaded one, such as now(), has what was not paid at the last loaded one. The lake lacks
-- a sale that was deferred before the first loaded day, but has its release with the same amounts: such a sale counts from that day on,
-- and its earned_at is null.
CREATE OR REPLACE MACRO outstanding_at(instant) AS TABLE
WITH later_ AS NOT MATERIALIZED (
  -- The rows of later_events: a macro that is exported may read tables only.
  $later_events
), since_ AS (
  -- Before the first loaded day nothing is known.
  SELECT account, min(window_start) AS first_ FROM later_ GROUP BY account
), sales_ AS (
  -- By any state of deferral: the state is that of the last reading, and not that of the instant.
  SELECT * FROM later_ WHERE status LIKE 'DEFERRED%'
), releases_ AS (
  -- The first release of each deferred transaction: that one paid it.
  SELECT * FROM later_
  WHERE status = 'RELEASED' AND deferred_transaction_id IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY account, deferred_transaction_id ORDER BY effective_at, event_id) = 1
)
SELECT
  coalesce(sale_.account, release_.account) AS account,
  coalesce(sale_.transaction_id, release_.deferred_transaction_id) AS transaction_id,
  coalesce(sale_.transaction_type, release_.transaction_type) AS transaction_type,
  coalesce(sale_.marketplace, release_.marketplace) AS marketplace,
  coalesce(sale_.amazon_order_id, release_.amazon_order_id) AS amazon_order_id,
  sale_.effective_at AS earned_at,
  release_.effective_at AS paid_at,
  sale_.maturity_at,
  coalesce(sale_.total_amount, release_.total_amount) AS total_amount,
  coalesce(sale_.total_text, release_.total_text) AS total_text,
  coalesce(sale_.currency, release_.currency) AS currency
FROM sales_ AS sale_
  FULL JOIN releases_ AS release_
    ON sale_.account = release_.account AND sale_.transaction_id = release_.deferred_transaction_id
  JOIN since_ ON since_.account = coalesce(sale_.account, release_.account)
WHERE first_ <= CAST(instant AS TIMESTAMPTZ)
  AND (sale_.effective_at IS NULL OR sale_.effective_at < CAST(instant AS TIMESTAMPTZ))
  AND (release_.effective_at IS NULL OR release_.effective_at >= CAST(instant AS TIMESTAMPTZ))
