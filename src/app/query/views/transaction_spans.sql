-- The rows of loaded_transactions of accounts whose settlements are reconciled from transactions, as they have no events of v0's
-- settlements.
FROM loaded_transactions ANTI JOIN group_events USING (account)
