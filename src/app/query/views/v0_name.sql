-- The name that v0 has for an amount of a transaction, by its kind and its name; other amounts have the same name in both.
CREATE OR REPLACE MACRO v0_name(kind, name) AS CASE
  WHEN kind = 'promotion' AND NOT starts_with(name, 'CostOfPoints') THEN 'PromotionMetaDataDefinitionValue'
  ELSE coalesce(
    map_extract(MAP {
      'OurPricePrincipal': 'Principal', 'OurPriceTax': 'Tax', 'ShippingPrincipal': 'ShippingCharge', 'GiftwrapPrincipal': 'GiftWrap',
      'GiftwrapTax': 'GiftWrapTax', 'GoodwillPrincipal': 'Goodwill', 'RestockingDeductionPrincipal': 'RestockingFee'
    }, name)[1],
    name
  )
END
