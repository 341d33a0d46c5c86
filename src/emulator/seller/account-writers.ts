import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { dayMs } from '../../core/windows.js';
import {
  elements,
  byTurn,
  charge,
  charges,
  fee,
  fees,
  millionthsOf,
  mostly,
  price,
  share,
  type EventWriter,
} from './event-writer.js';
import type { NonEmpty } from '../profiles/seeded-random.js';

const adjustmentTypes = [
  'FBAInventoryReimbursement',
  'ReserveEvent',
  'PostageBilling',
  'PostageRefund',
  'LostOrDamagedReimbursement',
  'ReimbursementClawback',
  'SellerRewards',
] as const;

/** Types for a plausible seller: one reimbursement in eight is clawed back because the items were found. */
const reimbursementTypes = [
  'FBAInventoryReimbursement',
  'LostOrDamagedReimbursement',
  'FBAInventoryReimbursement',
  'LostOrDamagedReimbursement',
  'FBAInventoryReimbursement',
  'LostOrDamagedReimbursement',
  'FBAInventoryReimbursement',
  'ReimbursementClawback',
] as const;

/** A fee without details, in US dollar cents. */
type FlatFee = readonly [type: string, cents: number];

const subscription: FlatFee = ['Subscription', 3999];

const handling: NonEmpty<FlatFee> = [
  ['FBAInboundTransportationFee', 2500],
  ['FBADisposalFee', 104],
  ['FBARemovalFee', 52],
];

/** Counts for edge cases, taken by turns; some exceed 2^53, so that a double can't hold them. */
const counts = ['0', '17', '4294967296', '9007199254740993', '9223372036854775807', '385'] as const;

export const accountWriters = {
  /**
   * A paid debt of an earlier settlement period: the parts of the debt and the payments each add up to the recovered
   * amount.
   */
  DebtRecoveryEventList: (context, sink) => {
    const { draw } = context;
    const type = byTurn(context, ['DebtPayment', 'DebtPaymentFailure', 'DebtAdjustment']);
    const sign = type === 'DebtPaymentFailure' ? -1 : 1;
    const debts = Array.from({ length: draw.between(1, 3) }, () => price(context, 'debt'));
    const recovered = debts.reduce((sum, debt) => sum + debt, 0);
    const onCard = share(context, recovered, 60);
    const earlier = context.earlierPeriod();
    sink.text('DebtRecoveryType', type);
    sink.net('RecoveryAmount', sign * recovered);
    sink.net('OverPaymentCredit', mostly(context, 1) ? 0 : price(context, 'overpayment'));
    elements(sink, 'DebtRecoveryItemList', debts, (debt) => {
      sink.memo('RecoveryAmount', sign * debt);
      sink.memo('OriginalAmount', debt + price(context, 'debtMargin'));
      sink.instant('GroupBeginDate', earlier.start);
      sink.instant('GroupEndDate', earlier.end);
    });
    elements(sink, 'ChargeInstrumentList', [onCard, recovered - onCard], (amount) => {
      sink.words('Description', draw.pick(context.profile.descriptions.instrument));
      sink.text('Tail', draw.digits(4));
      sink.memo('Amount', sign * amount);
    });
  },
  LoanServicingEventList: (context, sink) => {
    const { type, cents } = context.profile.drawLoan(context.draw, context.block, context.blockSize);
    sink.net('LoanAmount', millionthsOf(context, cents));
    sink.text('SourceBusinessEventType', type);
  },
  AdjustmentEventList: (context, sink) => {
    const { draw, marketplace, profile } = context;
    const type = draw.pick(profile.oddities ? adjustmentTypes : reimbursementTypes);
    const sign = ['ReserveEvent', 'PostageBilling', 'ReimbursementClawback'].includes(type) ? -1 : 1;
    const lines = Array.from({ length: draw.between(1, 3) }, () => ({
      quantity: draw.between(1, profile.oddities ? 12 : 2),
      each: sign * price(context, 'adjustment'),
      product: draw.pick(context.profile.products),
    }));
    sink.text('AdjustmentType', type);
    sink.instant('PostedDate', context.at);
    if (draw.oneIn(2)) sink.words('StoreName', draw.pick(marketplace.stores));
    sink.net(
      'AdjustmentAmount',
      lines.reduce((sum, { quantity, each }) => sum + quantity * each, 0),
    );
    // A reserve has no items; every second time the list is there and empty.
    if (type === 'ReserveEvent') {
      if (draw.oneIn(2)) elements(sink, 'AdjustmentItemList', [], () => undefined);
      return;
    }
    elements(sink, 'AdjustmentItemList', lines, ({ quantity, each, product }) => {
      sink.text('Quantity', String(quantity));
      sink.memo('PerUnitAmount', each);
      sink.memo('TotalAmount', quantity * each);
      sink.words('SellerSKU', product.sku);
      if (!draw.oneIn(3)) sink.text('FnSKU', product.fnSku);
      sink.words('ProductDescription', product.title);
      if (!draw.oneIn(3)) sink.text('ASIN', product.asin);
      if (draw.oneIn(3)) sink.text('TransactionNumber', draw.digits(12));
    });
  },
  SAFETReimbursementEventList: (context, sink) => {
    const { draw } = context;
    const lines = Array.from({ length: draw.between(1, 2) }, () => price(context, 'safet'));
    sink.instant('PostedDate', context.at);
    sink.text('SAFETClaimId', `${draw.digits(5)}-${draw.digits(5)}-${draw.digits(7)}`);
    sink.net(
      'ReimbursedAmount',
      lines.reduce((sum, amount) => sum + amount, 0),
    );
    if (mostly(context, 0)) sink.text('ReasonCode', 'SAFET-Reimbursement');
    elements(sink, 'SAFETReimbursementItemList', lines, (amount) => {
      charges(sink, 'itemChargeList', [['Principal', amount]], 'memo');
      if (mostly(context, 1)) sink.words('productDescription', draw.pick(context.profile.products).title);
      sink.text('quantity', String(draw.between(1, 3)));
    });
  },
  NetworkComminglingTransactionEventList: (context, sink) => {
    const { draw } = context;
    const tax = price(context, 'comminglingTax');
    sink.text('TransactionType', byTurn(context, ['NetCo', 'ComminglingVAT']));
    sink.instant('PostedDate', context.at);
    sink.text('NetCoTransactionID', draw.digits(12));
    if (mostly(context, 0)) sink.text('SwapReason', 'Network swap');
    sink.text('ASIN', draw.pick(context.profile.products).asin);
    if (mostly(context, 1)) sink.text('MarketplaceId', context.marketplace.id);
    sink.net('TaxExclusiveAmount', -price(context, 'commingling'));
    sink.net('TaxAmount', -tax);
  },
  AdhocDisbursementEventList: (context, sink) => {
    sink.text('TransactionType', 'Disbursed to Amazon Gift Card balance');
    sink.instant('PostedDate', context.at);
    sink.text('TransactionId', context.draw.digits(14));
    sink.net('TransactionAmount', -price(context, 'adhocDisbursement'));
  },
  TaxWithholdingEventList: (context, sink) => {
    const base = price(context, 'withholdingBase');
    const midnight = Math.floor(context.at / dayMs) * dayMs;
    sink.instant('PostedDate', context.at);
    sink.memo('BaseAmount', base);
    sink.net('WithheldAmount', share(context, -base, 1));
    sink.beginObject('TaxWithholdingPeriod');
    sink.instant('StartDate', midnight - 30 * dayMs);
    sink.instant('EndDate', midnight);
    sink.endObject();
  },
  ChargeRefundEventList: (context, sink) => {
    sink.instant('PostedDate', context.at);
    sink.text('ReasonCode', 'SubscriptionFeeCorrection');
    if (mostly(context, 0))
      sink.words('ReasonCodeDescription', context.draw.pick(context.profile.descriptions.refundReason));
    charges(sink, 'ChargeRefundTransactions', [
      ['SubscriptionFee', price(context, 'subscriptionRefund')],
      ['Tax', price(context, 'subscriptionRefundTax')],
    ]);
  },
  FailedAdhocDisbursementEventList: (context, sink) => {
    sink.text('FundsTransfersType', 'Refund');
    sink.text('TransferId', context.draw.code(12));
    if (mostly(context, 0)) sink.text('DisbursementId', context.draw.code(12));
    sink.text('PaymentDisbursementType', byTurn(context, ['CREDIT_CARD', 'BANK_ACCOUNT']));
    sink.text('Status', 'HARD_DECLINED');
    sink.net('TransferAmount', price(context, 'failedTransfer'));
    sink.instant('PostedDate', context.at);
  },
  /** Fees without a date: flat fees, fees of an order, and fees of a product. */
  ServiceFeeEventList: (context, sink) => {
    const { draw, marketplace, nth, profile } = context;
    if (nth < 2) {
      const [type, cents] = profile.oddities
        ? draw.pick([subscription, ...handling])
        : nth === 0
          ? subscription
          : draw.pick(handling);
      sink.text('FeeReason', 'Flat fee');
      fees(sink, 'FeeList', [[type, -millionthsOf(context, cents)]]);
      return;
    }
    const isOfOrder = nth < 4;
    const product = draw.pick(context.profile.products);
    if (isOfOrder) sink.order('AmazonOrderId', context.order);
    sink.text('FeeReason', isOfOrder ? 'Easy Ship shipping label' : 'Storage');
    fees(sink, 'FeeList', [
      [
        isOfOrder ? 'EasyShipFee' : 'FBAStorageFee',
        profile.oddities && draw.oneIn(8) ? -draw.between(1, 999_999) : -price(context, 'storage'),
      ],
      ...(draw.oneIn(3) ? ([['FBAStorageFeeTax', -price(context, 'storageTax')]] as const) : []),
    ]);
    if (!isOfOrder || draw.oneIn(2)) {
      sink.words('SellerSKU', product.sku);
      sink.text('FnSKU', product.fnSku);
      sink.text('ASIN', product.asin);
    }
    if (!draw.oneIn(4)) sink.words('FeeDescription', draw.pick(context.profile.descriptions.fee));
    if (draw.oneIn(2)) sink.words('StoreName', draw.pick(marketplace.stores));
  },
  ProductAdsPaymentEventList: (context, sink) => {
    const type = context.draw.oneIn(6) ? 'refund' : 'charge';
    const cost = price(context, 'productAds');
    const refund = context.profile.oddities ? cost : share(context, cost, 5);
    const base = type === 'charge' ? -cost : refund;
    const tax = context.draw.oneIn(2) ? share(context, base, 16) : 0;
    sink.instant('postedDate', context.at);
    sink.text('transactionType', type);
    sink.text('invoiceId', `${context.draw.code(10)}-${context.draw.between(1, 9)}`);
    sink.net('baseValue', base);
    sink.net('taxValue', tax);
    sink.memo('transactionValue', base + tax);
  },
  SellerDealPaymentEventList: (context, sink) => {
    const amount = -price(context, 'deal');
    const tax = share(context, amount, 7);
    sink.instant('postedDate', context.at);
    sink.text('dealId', `${context.draw.code(8)}-deal`);
    if (mostly(context, 0)) sink.words('dealDescription', context.draw.pick(context.profile.descriptions.deal));
    sink.text('eventType', 'SellerDealComplete');
    sink.text('feeType', 'RunLightningDealFee');
    sink.net('feeAmount', amount);
    sink.net('taxAmount', tax);
    sink.memo('totalAmount', amount + tax);
  },
  SellerReviewEnrollmentPaymentEventList: (context, sink) => {
    const feeAmount = -price(context, 'review');
    const chargeAmount = mostly(context, 2) ? 0 : -price(context, 'reviewTax');
    sink.instant('PostedDate', context.at);
    sink.text('EnrollmentId', context.draw.digits(13));
    if (mostly(context, 0)) sink.text('ParentASIN', context.draw.pick(context.profile.products).asin);
    fee(sink, 'SellerReviewEnrollmentPayment', feeAmount);
    charge(sink, 'ChargeComponent', 'Tax', chargeAmount);
    sink.memo('TotalAmount', feeAmount + chargeAmount);
  },
  CouponPaymentEventList: (context, sink) => {
    const { draw, profile } = context;
    const redeemed = profile.oddities ? byTurn(context, counts) : draw.between(1, 30);
    const feeAmount = -millionthsOf(context, typeof redeemed === 'number' ? redeemed * 60 : draw.between(60, 9000));
    const chargeAmount = draw.oneIn(2) ? share(context, feeAmount, 7) : 0;
    sink.instant('PostedDate', context.at);
    sink.text('CouponId', draw.code(12));
    if (!draw.oneIn(4)) sink.words('SellerCouponDescription', draw.pick(context.profile.descriptions.coupon));
    sink.number('ClipOrRedemptionCount', redeemed);
    sink.text('PaymentEventId', `${draw.code(8)}/${draw.digits(4)}`);
    fee(sink, 'CouponRedemptionFee', feeAmount);
    charge(sink, 'ChargeComponent', 'Tax', chargeAmount);
    sink.memo('TotalAmount', feeAmount + chargeAmount);
  },
  ImagingServicesFeeEventList: (context, sink) => {
    sink.text('ImagingRequestBillingItemID', `${context.draw.code(8)}-${context.draw.code(4)}`);
    if (mostly(context, 0)) sink.text('ASIN', context.draw.pick(context.profile.products).asin);
    sink.instant('PostedDate', context.at);
    fees(sink, 'FeeList', [['ImagingServicesFee', -price(context, 'imaging')]]);
  },
  ValueAddedServiceChargeEventList: (context, sink) => {
    sink.text('TransactionType', 'Other Support Service fees');
    sink.instant('PostedDate', context.at);
    if (mostly(context, 0)) sink.words('Description', context.draw.pick(context.profile.descriptions.service));
    sink.net('TransactionAmount', -price(context, 'valueAdded'));
  },
  CapacityReservationBillingEventList: (context, sink) => {
    sink.text('TransactionType', 'FBA Inventory Fee');
    sink.instant('PostedDate', context.at);
    if (mostly(context, 0)) sink.words('Description', context.draw.pick(context.profile.descriptions.capacity));
    sink.net('TransactionAmount', -price(context, 'capacity'));
  },
} satisfies Partial<Record<EventListName, EventWriter>>;
