-- The label of an amount: its name, or its list where it has no name or a generic one.
CREATE OR REPLACE MACRO amount_name(event_list, name) AS CASE
  WHEN name IS NULL OR lower(name) IN (
    'charge', 'refund', 'basevalue', 'sales', 'expenses', 'refunded sales', 'refunded expenses', 'refund sales', 'refundexpenses'
  ) THEN regexp_replace(event_list, '(Event)?List$', '')
  ELSE name
END
