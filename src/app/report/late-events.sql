-- One row for each of the `most` newest changes of an account's events in a range, and currency: the event, and its net amount.
SELECT change, seen_at, effective_at, event_list, amazon_order_id, currency, net
FROM event_history LEFT JOIN changed_amounts USING (account, source, event_id)
WHERE account = $account AND source = 'events' AND effective_at >= $from AND effective_at < $to
ORDER BY seen_at DESC, effective_at DESC, event_id, currency
LIMIT $most
