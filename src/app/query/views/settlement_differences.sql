-- One row for each difference between a settlement report and the lake, by source (the name of an API).
--
-- report_amount, lake_amount: the sums of its lines and of its amounts of the lake; difference: the first less the second; report_lines,
-- lake_entries: numbers of the lines, and ids of the events. Rows whose reason is split, renamed or other day differ by 0.
WITH RECURSIVE rules_ AS (
  -- Each has one pass for each key (same) and way of pairing. A pass looks at what the passes before it have left, where both sides have
  -- the same key. It pairs equal amounts (amount), a line and an event whose amounts add up to it (line), lines that belong together and
  -- such an event (event), or all that is there, where both sums are equal (sum). Where is_known_once is true, exactly one side has no day,
  -- or no order, if that is not part of the key.
  FROM (VALUES
    -- Commission -1.50 of order A on 3 March is on both sides; one may have another SKU, no day or no order.
    (1, [['order', 'sku', 'day', 'label'], ['order', 'day', 'label'], ['order', 'label'], ['day', 'label']], true, ['amount'], NULL),
    -- Commission -1.50 of order A on 3 March is that of 4 March.
    (2, [['order', 'label']], false, ['amount'], 'other day'),
    -- Commission -1.50 of order A on 3 March is Commission -1.00 and -0.50, on that day or not.
    (3, [['order', 'day', 'label'], ['order', 'label']], false, ['sum'], 'split'),
    -- Commission -1.50 of order A is ReferralFee -1.50 (amount), or an event with -1.00 and -0.50 (line), or that is two lines of -0.75 (event).
    (4, [['order', 'day'], ['order'], ['day']], true, ['amount', 'line', 'event'], 'renamed'),
    -- All of order A is 7.00 on both sides, on 3 March or in all, whatever it is called and however it is split.
    (5, [['order', 'day'], ['order']], false, ['sum'], 'split')
  ) AS rules_(rule, keys, is_known_once, pairings, reason)
), passes_ AS (
  SELECT CAST(row_number() OVER (ORDER BY rule, key_, pairing_) AS INTEGER) AS pass, keys[key_] AS same, pairings[pairing_] AS pairs,
    CASE
      WHEN is_known_once AND NOT list_contains(same, 'day') THEN 'day'
      WHEN is_known_once AND NOT list_contains(same, 'order') THEN 'order'
    END AS lacking,
    CASE WHEN pairs IN ('line', 'event') THEN 'split' ELSE reason END AS reason
  FROM (SELECT *, unnest(generate_series(1, len(pairings))) AS pairing_
    FROM (SELECT *, unnest(generate_series(1, len(keys))) AS key_ FROM rules_))
), items_ AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY is_report, line, event_id, name, sku, amount, amount_text) AS id,
    -- Null where only one side has it: lines may have the shipment of a fee there.
    CASE WHEN bool_or(is_report) OVER of_order_ AND NOT bool_and(is_report) OVER of_order_ THEN order_id END AS order_key
  FROM settlement_items
  WINDOW of_order_ AS (PARTITION BY account, settlement_id, source, order_id)
), paired_ AS (
  SELECT id, {'account': account, 'settlement_id': settlement_id, 'source': source, 'currency': currency} AS of_, is_report, unit, order_key,
    sku, day, label, amount, amount_text, 0 AS pass, CAST(NULL AS BIGINT) AS pair, false AS is_paired
  FROM items_
  UNION ALL
  SELECT id, of_, is_report, unit, order_key, sku, day, label, amount, amount_text, pass_, min(id) OVER alike_,
    CASE
      -- The first of as many as both sides have.
      WHEN pairs <> 'sum' THEN number_ <= coalesce(
        CASE WHEN is_report THEN max(number_) FILTER (NOT is_report) OVER alike_ ELSE max(number_) FILTER (is_report) OVER alike_ END, 0
      )
      WHEN sum(CASE WHEN is_report THEN amount ELSE -amount END) OVER alike_ <> 0 THEN false
      -- Tax and what was withheld of it may be 0 together, and not there on the other side.
      ELSE bool_or(is_report) OVER alike_ AND NOT bool_and(is_report) OVER alike_
        OR list_contains(same, 'day') AND order_key IS NOT NULL
    END
  FROM (
    -- What is paired has a number on its side: an amount, or a unit.
    SELECT *, dense_rank() OVER (
      PARTITION BY of_, same_, total_, amount_text, is_lacking_, is_report ORDER BY unit_, CASE WHEN unit_ IS NULL THEN id END
    ) AS number_
    FROM (
      SELECT item_.*, passes_.pass AS pass_, pairs, same,
        {
          'order': CASE WHEN list_contains(same, 'order') THEN order_key END,
          'sku': CASE WHEN list_contains(same, 'sku') THEN sku END,
          'day': CASE WHEN list_contains(same, 'day') THEN day END,
          'label': CASE WHEN list_contains(same, 'label') THEN label END
        } AS same_,
        CASE WHEN pairs = 'event' OR pairs = 'line' AND NOT is_report THEN unit END AS unit_,
        CASE
          WHEN pairs = 'sum' THEN NULL
          WHEN unit_ IS NULL THEN amount
          ELSE sum(amount) OVER (PARTITION BY of_, is_report, unit)
        END AS total_,
        CASE lacking WHEN 'day' THEN (day IS NULL) = is_report WHEN 'order' THEN (order_key IS NULL) = is_report END AS is_lacking_
      FROM paired_ AS item_ JOIN passes_ ON passes_.pass = item_.pass + 1
      WHERE NOT is_paired
        AND (pairs = 'amount' OR amount IS NOT NULL)
        -- What has no order is no sum of its own.
        AND (pairs <> 'sum' OR same <> ['order'] OR order_key IS NOT NULL)
    )
  )
  WINDOW alike_ AS (PARTITION BY of_, same_, total_, amount_text, is_lacking_)
), reasons_ AS (
  SELECT items_.*, passes_.reason, pair
  FROM items_ JOIN (FROM paired_ WHERE is_paired) USING (id) JOIN passes_ USING (pass)
  WHERE passes_.reason IS NOT NULL
  UNION ALL
  SELECT *,
    CASE
      WHEN NOT is_loaded THEN 'not loaded'
      WHEN source = 'v0' AND is_report AND name IN (
        'FBARemovalFee', 'FBADisposalFee', 'ReserveCredit', 'ReserveDebit', 'PayableToAmazon', 'SuccessfulCharge', 'UnsuccessfulTransfer'
      ) THEN 'not in v0'
      ELSE 'unexplained'
    END,
    NULL
  FROM items_ ANTI JOIN (FROM paired_ WHERE is_paired) USING (id)
), rows_ AS (
  -- What is not paired is added up by order, or else by day.
  SELECT *,
    CASE WHEN pair IS NULL AND reason <> 'not loaded' THEN order_id END AS order_,
    CASE WHEN pair IS NULL AND (order_key IS NULL OR reason = 'not loaded') THEN day END AS day_
  FROM reasons_
)
SELECT account, settlement_id, group_id, source,
  -- Those of the report, or else of the lake, where they are all the same.
  coalesce(only_value(CASE WHEN is_report THEN order_id END), only_value(order_id)) AS order_id,
  coalesce(only_value(CASE WHEN is_report THEN posted_on END), only_value(posted_on)) AS posted_on,
  coalesce(only_value(CASE WHEN is_report THEN kind END), only_value(kind)) AS kind,
  coalesce(only_value(CASE WHEN is_report THEN name END), only_value(name)) AS name,
  CAST(coalesce(sum(amount) FILTER (is_report), 0) AS DECIMAL(38, 6)) AS report_amount,
  CAST(coalesce(sum(amount) FILTER (NOT is_report), 0) AS DECIMAL(38, 6)) AS lake_amount,
  report_amount - lake_amount AS difference,
  reason,
  currency,
  coalesce(list(line ORDER BY line) FILTER (is_report), []) AS report_lines,
  coalesce(list(DISTINCT event_id ORDER BY event_id) FILTER (NOT is_report), []) AS lake_entries
FROM rows_
GROUP BY account, settlement_id, group_id, source, currency, reason, pair, order_, day_
ORDER BY account, settlement_id, source, posted_on, order_id, report_lines, lake_entries
