-- One row for each amount that settlement_differences compares, of each settlement report and API (source): the lines of the report
-- (is_report), the net amounts of the API, and the beginning balance of the group. Amounts of 0 are left out.
-- Empty without settlement_reports.
--
-- An account has the sources that it has loaded; one without any has all. v0 has the events of the settlement's group, a later API its
-- paid events that name the settlement or its group; what they split into base, tax and promotion is one amount.
-- line, event_id: of either side; unit: the same for what belongs together: for lines of one instant, order and type, and for an event;
-- label: the name, alike on both sides; day: in UTC, null where nothing tells it; is_loaded: whether the source has the settlement, and
-- the time of the line. What has no order may be on another day on the other side: it needs all days of the settlement.
WITH one_group_ AS (
  -- A number that two groups have says nothing.
  SELECT account, settlement_id, any_value(group_id) AS group_id
  FROM settlement_ids
  GROUP BY ALL
  HAVING count(*) = 1
), reports_ AS (
  -- A report that was written from the lake may have the id of the group.
  SELECT account, report_.settlement_id, coalesce(own_.group_id, one_group_.group_id) AS group_id
  FROM settlement_reports AS report_
    LEFT JOIN one_group_ USING (account, settlement_id)
    LEFT JOIN groups AS own_ ON own_.account = report_.account AND own_.group_id = report_.settlement_id
), later_of_report_ AS (
  -- Each event once, if it names both.
  SELECT source, account, reports_.settlement_id, event_id FROM later_events JOIN reports_ USING (account, settlement_id)
  UNION
  SELECT source, account, reports_.settlement_id, event_id FROM later_events JOIN reports_ USING (account, group_id)
), windows_ AS (
  SELECT DISTINCT source, account, epoch_us(window_start) AS start_, epoch_us(window_end) AS end_ FROM later_events
), loaded_ AS (
  SELECT DISTINCT 'v0' AS source, account FROM group_events
  UNION ALL
  SELECT DISTINCT source, account FROM windows_
), whole_ AS (
  -- Of v0: no event is missing, and the group had ended when they were read.
  SELECT 'v0' AS source, account, settlement_id
  FROM reports_ JOIN group_events USING (account, group_id)
  GROUP BY ALL
  HAVING count(*) = max(position) + 1 AND count(*) = count(window_end)
  UNION ALL
  SELECT DISTINCT source, account, settlement_id FROM later_of_report_
), sources_ AS (
  SELECT source, account, settlement_id, group_id, whole_.account IS NOT NULL AS is_whole
  FROM reports_
    CROSS JOIN (VALUES $apis) AS apis_(source)
    LEFT JOIN whole_ USING (source, account, settlement_id)
  WHERE (source, account) IN (FROM loaded_) OR account NOT IN (SELECT account FROM loaded_)
), lines_ AS (
  -- A day without a time counts at its noon.
  SELECT account, settlement_id, line, order_id, sku, posted_on, kind, name, amount, amount_text, currency,
    concat_ws(' ', order_id, epoch_us(posted_at), posted_on, transaction_type, amount_type) AS unit,
    coalesce(name, amount_description) AS label_,
    coalesce(CAST(make_timestamp(epoch_us(posted_at)) AS DATE), posted_on) AS day,
    coalesce(epoch_us(posted_at), epoch_us(CAST(posted_on AS TIMESTAMP) + INTERVAL '12 hours')) AS at_
  FROM settlement_lines
), timed_ AS (
  -- Whether the source has the time of each line: v0 is read by settlement, and not by days.
  SELECT of_.*, of_.source = 'v0' OR at_ IS NULL OR coalesce(at_ < end_, false) AS is_timed
  FROM (FROM lines_ JOIN sources_ USING (account, settlement_id)) AS of_
    ASOF LEFT JOIN windows_ ON windows_.source = of_.source AND windows_.account = of_.account AND at_ >= start_
), covered_ AS (
  -- Whether it has that of all.
  SELECT source, account, settlement_id FROM timed_ GROUP BY ALL HAVING bool_and(is_timed)
), amounts_ AS (
  SELECT 'v0' AS source, account, settlement_id, event_id, amazon_order_id AS order_id, sku, posted_at AS at_, kind,
    amount_name(event_list, coalesce(name, regexp_extract(path, '[^.]*$'))) AS name, amount, amount_text, currency
  FROM group_entries JOIN reports_ USING (account, group_id)
  WHERE role = 'net'
  UNION ALL
  SELECT source, account, settlement_id, event_id, any_value(amazon_order_id), any_value(sku), any_value(effective_at),
    any_value(kind), amount_name(any_value(event_list), name), sum(amount), any_value(amount_text), currency
  FROM later_amounts JOIN later_of_report_ USING (source, account, event_id)
  WHERE is_paid AND role = 'net'
  GROUP BY source, account, settlement_id, event_id, name, coalesce(charge, CAST(entry AS VARCHAR)), currency
  UNION ALL
  SELECT source, account, settlement_id, group_id, NULL, NULL, NULL, 'beginning balance', 'ReserveCredit', beginning_balance, NULL,
    beginning_currency
  FROM groups JOIN sources_ USING (account, group_id)
  WHERE beginning_balance <> 0
), items_ AS (
  SELECT account, settlement_id, group_id, source, true AS is_report, line, NULL AS event_id, unit, order_id, sku, day, posted_on,
    kind, name, label_, amount, amount_text, currency, is_whole, is_timed
  FROM timed_
  UNION ALL
  SELECT account, settlement_id, group_id, source, false, NULL, event_id, event_id, order_id, sku,
    CAST(make_timestamp(epoch_us(at_)) AS DATE) AS day, day, kind, name, name, amount, amount_text, currency, is_whole, true
  FROM amounts_ JOIN sources_ USING (source, account, settlement_id)
)
SELECT * EXCLUDE (label_, is_whole, is_timed),
  is_whole AND (
    source = 'v0' OR (source, account, settlement_id) IN (FROM covered_) OR is_timed AND order_id IS NOT NULL
  ) AS is_loaded,
  v0_name(kind, label_) AS label
FROM items_
WHERE amount IS DISTINCT FROM 0
