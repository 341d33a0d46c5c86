-- One row for each basis (paid, earned), journal and name of amounts that are posted, and one for the other side of each: the lines
-- of journal_lines before they are summed by account of the ledger.
--
-- amount: positive is credit; times: the number of amounts, 0 for the other side; category, kind, name: as in ledger_amounts and
-- amount_name; clearing, bank and deferred for the accounts of that kind; difference with the lines of clearing that no amount by date
-- explains; is_named: whether chart_of_accounts has a row for it, else it is posted to suspense.
WITH settled_ AS (
  -- The settlement of each event by date: of equal events, the first by date is the first in settlements.
  SELECT account, event_id, group_id
  FROM (
    SELECT account, event_id, content_hash, row_number() OVER (
      PARTITION BY account, content_hash ORDER BY effective_at, event_id
    ) AS number_
    FROM events
  ) JOIN (
    SELECT account, group_id, content_hash, row_number() OVER (
      PARTITION BY account, content_hash ORDER BY effective_at, event_id
    ) AS number_
    FROM group_events
  ) USING (account, content_hash, number_)
), ledger_ AS MATERIALIZED (
  SELECT account, month, currency, groups.group_id, category, kind, amount_name(event_list, nullif(name, '')) AS name,
    sum(amount) AS amount, count(*) AS times
  FROM ledger_amounts AS of_
    LEFT JOIN settled_ USING (account, event_id)
    LEFT JOIN (SELECT account, group_id FROM groups) AS groups
      ON groups.account = of_.account AND groups.group_id = coalesce(settled_.group_id, of_.group_id)
  WHERE role = 'net'
  GROUP BY ALL
), clearing_ AS MATERIALIZED (
  SELECT account, month_of(effective_at) AS month, currency, line, group_id,
    CASE WHEN line = 'paid out' THEN CAST(timezone(time_zone(), effective_at) AS DATE) END AS date,
    sum(amount) AS amount, count(*) AS times
  FROM clearing
  WHERE effective_at IS NOT NULL
  GROUP BY ALL
), differences_ AS (
  SELECT account, month, currency, group_id, line AS name, amount, times
  FROM clearing_
  -- What is carried over is 0 in all.
  WHERE line NOT IN ('by date', 'paid out') AND amount <> 0
  UNION ALL
  -- The ledger has transactions where the settlements are those of v0.
  SELECT account, month, currency, NULL, 'between v0 and transactions', sum(amount), 1
  FROM (
    SELECT account, month, currency, amount FROM clearing_ WHERE line = 'by date'
    UNION ALL
    SELECT account, month, currency, -amount FROM ledger_
  )
  GROUP BY ALL
  HAVING sum(amount) <> 0
), deferrals_ AS (
  -- What each month adds to the sales that are earned and not paid. Those that were deferred before the first loaded day are there
  -- from the beginning: the lake has their releases only.
  SELECT account, currency, CAST(month || '-01' AS DATE) AS month_, category, kind, amount_name(event_list, nullif(name, '')) AS name,
    CASE WHEN is_earned THEN amount ELSE -amount END AS amount
  FROM later_amounts
  WHERE role = 'net' AND is_earned <> is_paid
  UNION ALL
  SELECT account, currency, NULL, category, kind, amount_name(event_list, nullif(name, '')), amount
  FROM transaction_amounts
    SEMI JOIN (FROM releases WHERE sold_at IS NULL) USING (account, event_id)
  WHERE role = 'net'
), months_ AS (
  -- The months of loaded transactions, and the one before them.
  SELECT account, first_, last_day, unnest(generate_series(
    date_trunc('month', first_) - INTERVAL 1 MONTH, date_trunc('month', last_day), INTERVAL 1 MONTH
  ))::DATE AS month_
  FROM (
    SELECT account, CAST(timezone(time_zone(), first_at) AS DATE) AS first_ FROM loaded_transactions
  ) JOIN last_loaded_days USING (account)
), outstanding_ AS (
  SELECT account, currency, months_.month_, first_, last_day, category, kind, name, sum(amount) AS amount, count(*) AS times
  FROM months_ JOIN deferrals_ AS of_ USING (account)
  WHERE coalesce(of_.month_ <= months_.month_, true)
  GROUP BY account, currency, months_.month_, first_, last_day, category, kind, name
  HAVING sum(amount) <> 0
), movements_ AS (
  SELECT 'settlement' AS part, account, currency, group_id, CAST(month || '-01' AS DATE) AS month_, NULL::DATE AS date,
    category, kind, name, 'clearing' AS other, amount, times
  FROM ledger_
  UNION ALL
  SELECT 'settlement', account, currency, group_id, CAST(month || '-01' AS DATE), NULL,
    'difference', 'difference', name, 'clearing', amount, times
  FROM differences_
  UNION ALL
  SELECT 'payout', account, currency, group_id, NULL, date, 'bank', 'bank', NULL, 'clearing', amount, times
  FROM clearing_
  WHERE line = 'paid out'
  UNION ALL
  SELECT 'deferral', account, currency, NULL, NULL, least(last_day(month_), last_day),
    category, kind, name, 'deferred', amount, times
  FROM outstanding_
  WHERE month_ >= date_trunc('month', first_)
  UNION ALL
  SELECT 'reversal', account, currency, NULL, NULL, greatest(CAST(month_ + INTERVAL 1 MONTH AS DATE), first_),
    category, kind, name, 'deferred', -amount, times
  FROM outstanding_
  WHERE month_ < date_trunc('month', last_day)
), dated_ AS (
  SELECT of_.* EXCLUDE (month_, date), started_at, ended_at, trace_id, coalesce(settlement_id, of_.group_id) AS settlement_id,
    -- Differences of other reasons than this one have a journal for each.
    CASE WHEN kind = 'difference' AND of_.group_id IS NULL THEN nullif(name, 'in no loaded settlement') END AS reason,
    -- The last day of the settlement in the month, as far as it is loaded.
    coalesce(
      date, greatest(month_, least(last_day(month_), last_day, CAST(timezone(time_zone(), ended_at) AS DATE)))
    ) AS date
  FROM movements_ AS of_
    LEFT JOIN last_loaded_days USING (account)
    LEFT JOIN groups USING (account, group_id)
    LEFT JOIN settlement_ids USING (account, group_id)
), lines_ AS (
  SELECT * EXCLUDE (other) FROM dated_
  UNION ALL
  SELECT * EXCLUDE (other) REPLACE (other AS category, other AS kind, NULL AS name, -amount AS amount, 0 AS times) FROM dated_
), accounts_ AS (
  -- A row with a name is before one without, and one for the kind before one for the category.
  SELECT key_.*, ledger_code, ledger_account, chart_.kind <> 'suspense' AS is_named
  FROM (SELECT DISTINCT category, kind, name FROM lines_) AS key_
    JOIN chart_of_accounts AS chart_
      ON chart_.kind = 'suspense'
        OR (chart_.kind IN (key_.kind, key_.category) AND coalesce(chart_.name = key_.name, chart_.name IS NULL))
  QUALIFY row_number() OVER (
    PARTITION BY key_.category, key_.kind, key_.name
    ORDER BY chart_.kind = 'suspense', chart_.name IS NULL, chart_.kind <> key_.kind
  ) = 1
)
SELECT account,
  concat(
    CASE basis WHEN 'paid' THEN 'P' ELSE 'E' END, strftime(date, '%Y%m'), '-',
    left(md5(concat_ws(' ', part, account, coalesce(group_id, '-'), currency, reason)), 12)
  ) AS journal,
  date, basis, settlement_id, strftime(date, '%Y-%m') AS month, ledger_code, ledger_account, line_.category, line_.kind, line_.name,
  amount, times, currency, is_named,
  CASE
    WHEN part = 'deferral' THEN concat('Deferred sales of ', account, ' at the end of ', strftime(date, '%Y-%m'))
    WHEN part = 'reversal' THEN concat('Reversal of the deferred sales of ', account, ' before ', date)
    WHEN part = 'payout' THEN concat('Payout of settlement ', settlement_id, ' of ', account, ', trace id ' || trace_id)
    WHEN group_id IS NULL
      THEN concat('Amounts of ', account, ' ', coalesce(reason, 'in no loaded settlement'), ', ', strftime(date, '%Y-%m'))
    ELSE concat(
      'Settlement ', settlement_id, ' of ', account, ', ', CAST(timezone(time_zone(), started_at) AS DATE), ' to ',
      coalesce(CAST(CAST(timezone(time_zone(), ended_at) AS DATE) AS VARCHAR), 'open'), ', part in ', strftime(date, '%Y-%m')
    )
  END AS memo
FROM lines_ AS line_
  JOIN accounts_ AS account_
    ON account_.category = line_.category
      AND account_.kind IS NOT DISTINCT FROM line_.kind
      AND account_.name IS NOT DISTINCT FROM line_.name
  CROSS JOIN (VALUES ('paid'), ('earned')) AS bases_(basis)
WHERE basis = 'earned' OR part NOT IN ('deferral', 'reversal')
