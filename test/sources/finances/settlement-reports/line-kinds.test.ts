import { expect, test } from 'vitest';
import { lineKind } from '../../../../src/sources/finances/settlement-reports/line-kinds.js';

/**
 * What is known of lines, and of the amounts of events that they are: transaction type, amount type, descriptions, their kind or kinds,
 * their names.
 */
const known: readonly (readonly [string, string, string, string, string])[] = [
  [
    'Order',
    'ItemPrice',
    'Principal | Tax | Shipping | ShippingTax | GiftWrap | GiftWrapTax',
    'charge',
    'Principal | Tax | ShippingCharge | ShippingTax | GiftWrap | GiftWrapTax',
  ],
  [
    'Order',
    'ItemFees',
    'Commission | FBAPerUnitFulfillmentFee | ShippingChargeback | GiftwrapChargeback | FixedClosingFee | VariableClosingFee | ShippingHB | SalesTaxServiceFee | DigitalServicesFee | TechnologyFee',
    'fee',
    'Commission | FBAPerUnitFulfillmentFee | ShippingChargeback | GiftwrapChargeback | FixedClosingFee | VariableClosingFee | ShippingHB | SalesTaxServiceFee | DigitalServicesFee | TechnologyFee',
  ],
  [
    'Order',
    'ItemWithheldTax',
    'MarketplaceFacilitatorTax-Principal | MarketplaceFacilitatorTax-Shipping | MarketplaceFacilitatorTax-Other | MarketplaceFacilitatorVAT-Principal | LowValueGoodsTax-Principal | TCS-IGST | TDS',
    'tax_withheld',
    'MarketplaceFacilitatorTax-Principal | MarketplaceFacilitatorTax-Shipping | MarketplaceFacilitatorTax-Other | MarketplaceFacilitatorVAT-Principal | LowValueGoodsTax-Principal | TCS-IGST | TDS',
  ],
  [
    'Order',
    'Promotion',
    'Principal | Shipping | TaxDiscount',
    'promotion',
    'PromotionMetaDataDefinitionValue | PromotionMetaDataDefinitionValue | PromotionMetaDataDefinitionValue',
  ],
  ['Order', 'Points', 'PointsGranted', 'points', 'CostOfPointsGranted'],
  [
    'Refund',
    'ItemPrice',
    'Principal | Tax | Shipping | ShippingTax | Goodwill | RestockingFee | ReturnShipping',
    'charge',
    'Principal | Tax | ShippingCharge | ShippingTax | Goodwill | RestockingFee | ReturnShipping',
  ],
  [
    'Refund',
    'ItemFees',
    'Commission | RefundCommission | ShippingChargeback | DigitalServicesFee',
    'fee',
    'Commission | RefundCommission | ShippingChargeback | DigitalServicesFee',
  ],
  ['A-to-z Guarantee Refund', 'ItemPrice', 'Principal', 'charge', 'Principal'],
  ['Chargeback Refund', 'ItemPrice', 'Principal', 'charge', 'Principal'],
  ['Order_Retrocharge', 'ItemPrice', 'Tax | ShippingTax', 'tax', 'BaseTax | ShippingTax'],
  [
    'Refund_Retrocharge',
    'ItemWithheldTax',
    'MarketplaceFacilitatorTax-Principal',
    'tax_withheld',
    'MarketplaceFacilitatorTax-Principal',
  ],
  ['ServiceFee', 'Cost of Advertising', 'TransactionTotalAmount', 'fee', 'ProductAdsPayment'],
  ['CouponRedemptionFee', 'CouponRedemptionFee', 'Save 5%', 'fee', 'CouponRedemptionFee'],
  ['ServiceFee', 'Deals', 'Lightning-123', 'fee', 'RunLightningDealFee'],
  ['Promotion Fee', 'Deals', 'Lightning-123', 'fee', 'RunLightningDealFee'],
  ['Vine Enrollment Fee', 'Vine Enrollment Fee', 'B0000', 'fee', 'VineEnrollmentFee'],
  [
    'AmazonFees',
    'Vine Enrollment Fee',
    'Base fee | Tax on fee | Discount on fee',
    'fee',
    'VineEnrollmentFee | VineEnrollmentFee | VineEnrollmentFee',
  ],
  [
    'other-transaction',
    'other-transaction',
    'Subscription Fee | Storage Fee | StorageRenewalBilling | FBAInboundTransportationFee | RemovalComplete | DisposalComplete | Paid services fee',
    'fee',
    'Subscription | FBAStorageFee | FBALongTermStorageFee | FBAInboundTransportationFee | FBARemovalFee | FBADisposalFee | PaidServicesFee',
  ],
  [
    'FBAFees',
    'FBAInboundConvenienceFee',
    'Base fee | Tax on fee | Discount on fee',
    'fee',
    'FBAInboundConvenienceFee | FBAInboundConvenienceFee | FBAInboundConvenienceFee',
  ],
  [
    'other-transaction',
    'FBA Inventory Reimbursement',
    'WAREHOUSE_LOST | WAREHOUSE_DAMAGE | REVERSAL_REIMBURSEMENT | COMPENSATED_CLAWBACK',
    'adjustment',
    'WAREHOUSE_LOST | WAREHOUSE_DAMAGE | REVERSAL_REIMBURSEMENT | COMPENSATED_CLAWBACK',
  ],
  [
    'other-transaction',
    'other-transaction',
    'BuyerRecharge | MiscAdjustment | NonSubscriptionFeeAdj',
    'adjustment',
    'BuyerRecharge | MiscAdjustment | NonSubscriptionFeeAdj',
  ],
  ['SAFE-T Reimbursement', '', '', 'reimbursement', 'SAFETReimbursement'],
  ['Liquidations', 'ItemPrice', 'Principal | Tax', 'charge | tax', 'Revenue | TaxAmount'],
  [
    'Liquidations Adjustments',
    'ItemWithheldTax',
    'MarketplaceFacilitatorTax-Principal',
    'tax_withheld',
    'MarketplaceFacilitatorTax-Principal',
  ],
  ['other-transaction', 'other-transaction', 'COMMINGLING_VAT', 'tax', 'COMMINGLING_VAT'],
  ['other-transaction', 'other-transaction', 'Seller Rewards', 'adjustment', 'SellerRewards'],
  ['other-transaction', 'Capacity Reservation Fee', '', 'fee', 'CapacityReservationFee'],
  ['other-transaction', 'other-transaction', 'Income tax charged', 'tax_withheld', 'IncomeTax'],
  ['other-transaction', 'other-transaction', 'Previous Reserve Amount Balance', 'adjustment', 'ReserveCredit'],
  ['other-transaction', 'other-transaction', 'Current Reserve Amount', 'adjustment', 'ReserveDebit'],
  ['other-transaction', 'other-transaction', 'Payable to Amazon', 'debt', 'PayableToAmazon'],
  ['other-transaction', 'other-transaction', 'Successful charge', 'debt', 'SuccessfulCharge'],
  ['other-transaction', 'other-transaction', 'Transfer of funds unsuccessful', 'debt', 'UnsuccessfulTransfer'],
];

test.each(known)('%s / %s / %s', (transactionType, amountType, descriptions, kinds, names) => {
  const [kind, name] = [kinds.split(' | '), names.split(' | ')];
  for (const [at, description] of descriptions.split(' | ').entries()) {
    const found = lineKind(transactionType, amountType, description);
    expect(found, description).toEqual({ kind: kind[at] ?? kind[0], name: name[at] });
  }
});

test('a line that no rule names is not guessed', () => {
  expect(lineKind('other-transaction', 'other-transaction', 'A new label')).toBeUndefined();
  expect(lineKind('New type', 'New amounts', 'Principal')).toBeUndefined();
  expect(lineKind('', '', '')).toBeUndefined();
});
