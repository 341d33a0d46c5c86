import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import type { SellerMarketplace } from '../profiles/seller-profile.js';
import type { ReportAmount, ReportSink } from './report-sink.js';
import { netFee } from './transaction-json.js';

/** Transaction type, amount type, amount description. */
type Labels = readonly [transactionType: string, amountType: string, description: string];

/** An amount of a report. */
export interface LabelledAmount {
  readonly labels: Labels;
  readonly millionths: number;
  /** Undefined: it is of no item and no promotion. */
  readonly source: ReportAmount | undefined;
}

const other = (description: string): Labels => ['other-transaction', 'other-transaction', description];

/** Transaction types of the lists whose lines name their order and its items. */
const orderTypes: Partial<Record<EventListName, string>> = {
  ShipmentEventList: 'Order',
  ShipmentSettleEventList: 'Order',
  TrialShipmentEventList: 'Order',
  RefundEventList: 'Refund',
  GuaranteeClaimEventList: 'A-to-z Guarantee Refund',
  ChargebackEventList: 'Chargeback Refund',
  RemovalShipmentEventList: 'Liquidations',
  RemovalShipmentAdjustmentEventList: 'Liquidations Adjustments',
  FBALiquidationEventList: 'Liquidations',
};

/** The same by the type of the event. */
const retrochargeTypes: Readonly<Record<string, string>> = {
  Retrocharge: 'Order_Retrocharge',
  RetrochargeReversal: 'Refund_Retrocharge',
};

const amountTypes = {
  charge: 'ItemPrice',
  fee: 'ItemFees',
  withheld: 'ItemWithheldTax',
  promotion: 'Promotion',
  points: 'Points',
  direct: 'other-transaction',
  member: 'ItemPrice',
} as const satisfies Record<ReportAmount['part'], string>;

/** Descriptions of amounts of orders that the report doesn't call as the event does. */
const descriptions: Readonly<Record<string, string>> = {
  ShippingCharge: 'Shipping',
  CostOfPointsGranted: 'PointsGranted',
  CostOfPointsReturned: 'PointsReturned',
  BaseTax: 'Tax',
  Revenue: 'Principal',
  RevenueAdjustment: 'Principal',
  TaxAmount: 'Tax',
  TaxAmountAdjustment: 'Tax',
  TaxWithheld: 'MarketplaceFacilitatorTax-Principal',
  TaxWithheldAdjustment: 'MarketplaceFacilitatorTax-Principal',
  FeeAmount: 'LiquidationsBrokerageFee',
  LiquidationProceedsAmount: 'Principal',
  LiquidationFeeAmount: 'LiquidationsBrokerageFee',
};

/** Members of orders that aren't prices. */
const memberTypes: Readonly<Record<string, string>> = {
  TaxWithheld: amountTypes.withheld,
  TaxWithheldAdjustment: amountTypes.withheld,
  LiquidationFeeAmount: amountTypes.fee,
};

/** Lists whose amounts are one line; a text of the event stands for an empty description. */
const joined: Partial<Record<EventListName, Labels>> = {
  ProductAdsPaymentEventList: ['ServiceFee', 'Cost of Advertising', 'TransactionTotalAmount'],
  CouponPaymentEventList: ['CouponRedemptionFee', 'CouponRedemptionFee', ''],
  SellerDealPaymentEventList: ['ServiceFee', 'Deals', ''],
  NetworkComminglingTransactionEventList: other('COMMINGLING_VAT'),
};

/** Fees of services with a label of their own. */
const feeLabels: Readonly<Record<string, string>> = {
  Subscription: 'Subscription Fee',
  FBAInboundTransportationFee: 'FBAInboundTransportationFee',
  FBADisposalFee: 'DisposalComplete',
  FBARemovalFee: 'RemovalComplete',
  FBAStorageFee: 'Storage Fee',
};

const reimbursement = (description: string): Labels => [
  'other-transaction',
  'FBA Inventory Reimbursement',
  description,
];

/** Amounts of the account by the event's type. */
const typeLabels: Readonly<Record<string, Labels>> = {
  FBAInventoryReimbursement: reimbursement('WAREHOUSE_DAMAGE'),
  LostOrDamagedReimbursement: reimbursement('WAREHOUSE_LOST'),
  ReimbursementClawback: reimbursement('COMPENSATED_CLAWBACK'),
  ReserveEvent: other('Current Reserve Amount'),
  SellerRewards: other('Seller Rewards'),
  DebtPayment: other('Successful charge'),
  DebtPaymentFailure: other('Transfer of funds unsuccessful'),
  DebtAdjustment: other('Payable to Amazon'),
};

/** The same by the list. */
const listLabels: Partial<Record<EventListName, Labels>> = {
  SAFETReimbursementEventList: other('SAFE-T Reimbursement'),
  TaxWithholdingEventList: other('Income tax charged'),
  FailedAdhocDisbursementEventList: other('Transfer of funds unsuccessful'),
  ValueAddedServiceChargeEventList: other('Paid services fee'),
  CapacityReservationBillingEventList: other('Capacity Reservation Fee'),
};

export const beginningBalance: Labels = other('Previous Reserve Amount Balance');

/** The amounts of the event on a sink as a report has them. */
export function labelledAmounts(
  list: EventListName,
  marketplace: SellerMarketplace,
  sink: Pick<ReportSink, 'amounts' | 'type' | 'description'>,
): readonly LabelledAmount[] {
  const { amounts, type, description } = sink;
  const together = joined[list];
  if (together !== undefined) {
    const [transactionType, amountType, text] = together;
    const millionths = amounts.reduce((sum, amount) => sum + amount.millionths, 0);
    // A description is one field of a line.
    const words = text || description.replaceAll(/\s+/g, ' ') || amountType;
    return millionths === 0 ? [] : [{ labels: [transactionType, amountType, words], millionths, source: undefined }];
  }
  const orderType = orderTypes[list] ?? retrochargeTypes[type];
  return amounts.flatMap((amount) => {
    if (orderType !== undefined) return [{ labels: orderLabels(orderType, amount), ...ofSource(amount) }];
    if (list === 'SellerReviewEnrollmentPaymentEventList') {
      const part = amount.part === 'fee' ? 'Base fee' : 'Tax on fee';
      return [{ labels: ['AmazonFees', 'Vine Enrollment Fee', part] as const, ...ofSource(amount) }];
    }
    if (amount.part === 'fee') return feeAmounts(amount, marketplace);
    const name = amount.part === 'member' ? type || list.replace(/EventList$/, '') : amount.name;
    const known = amount.name === 'OverPaymentCredit' ? other(amount.name) : (typeLabels[type] ?? listLabels[list]);
    return [{ labels: known ?? other(name), ...ofSource(amount) }];
  });
}

function ofSource(amount: ReportAmount) {
  return { millionths: amount.millionths, source: amount };
}

function orderLabels(transactionType: string, { part, name }: ReportAmount): Labels {
  const amountType = memberTypes[name] ?? amountTypes[part];
  return [transactionType, amountType, part === 'promotion' ? 'Principal' : (descriptions[name] ?? name)];
}

/** A fee of a service: one amount, or its base and the tax on it where the marketplace charges one. */
function feeAmounts(amount: ReportAmount, marketplace: SellerMarketplace): readonly LabelledAmount[] {
  const { name, millionths } = amount;
  const net = netFee(millionths, marketplace);
  const label = feeLabels[name];
  if (label !== undefined && (net === millionths || !name.startsWith('FBAStorage'))) {
    return [{ labels: other(label), ...ofSource(amount) }];
  }
  const transactionType = name.startsWith('FBA') ? 'FBAFees' : 'AmazonFees';
  return (
    [
      ['Base fee', net],
      ['Tax on fee', millionths - net],
    ] as const
  )
    .filter(([, part]) => part !== 0)
    .map(([part, sum]) => ({ labels: [transactionType, name, part], millionths: sum, source: amount }));
}
