import { byTurn, mostly, price, share, type Writer } from './booking.js';
import { dayMs } from './event-calendar.js';
import { charges } from './event-writer.js';
import { descriptions, products } from './catalogue.js';

/** A debt of an earlier settlement period that was paid: its parts and what paid for it add up to what was recovered. */
export const debtRecovery: Writer = (booking, draft) => {
  const { draw } = booking;
  const type = byTurn(booking, ['DebtPayment', 'DebtPaymentFailure', 'DebtAdjustment']);
  const sign = type === 'DebtPaymentFailure' ? -1 : 1;
  const debts = Array.from({ length: draw.between(1, 3) }, () => price(booking, 100, 30_000));
  const recovered = debts.reduce((sum, debt) => sum + debt, 0);
  const onCard = share(booking, recovered, 60);
  const earlier = booking.earlierPeriod();
  draft.text('DebtRecoveryType', type);
  draft.net('RecoveryAmount', sign * recovered);
  draft.net('OverPaymentCredit', mostly(booking, 1) ? 0 : price(booking, 1, 500));
  draft.beginList('DebtRecoveryItemList');
  for (const debt of debts) {
    draft.beginElement();
    draft.memo('RecoveryAmount', sign * debt);
    draft.memo('OriginalAmount', debt + price(booking, 0, 500));
    draft.instant('GroupBeginDate', earlier.start);
    draft.instant('GroupEndDate', earlier.end);
    draft.endElement();
  }
  draft.endList();
  draft.beginList('ChargeInstrumentList');
  for (const amount of [onCard, recovered - onCard]) {
    draft.beginElement();
    draft.words('Description', draw.pick(descriptions.instrument));
    draft.text('Tail', draw.digits(4));
    draft.memo('Amount', sign * amount);
    draft.endElement();
  }
  draft.endList();
};

export const loanServicing: Writer = (booking, draft) => {
  const type = byTurn(booking, ['LoanPayment', 'LoanAdvance', 'LoanRefund']);
  const amount = type === 'LoanAdvance' ? price(booking, 500_000, 25_000_000) : price(booking, 1000, 90_000);
  draft.net('LoanAmount', type === 'LoanPayment' ? -amount : amount);
  draft.text('SourceBusinessEventType', type);
};

const adjustmentTypes = [
  'FBAInventoryReimbursement',
  'ReserveEvent',
  'PostageBilling',
  'PostageRefund',
  'LostOrDamagedReimbursement',
  'ReimbursementClawback',
  'SellerRewards',
] as const;

export const adjustment: Writer = (booking, draft) => {
  const { draw, market } = booking;
  const type = draw.pick(adjustmentTypes);
  const sign = ['ReserveEvent', 'PostageBilling', 'ReimbursementClawback'].includes(type) ? -1 : 1;
  const lines = Array.from({ length: draw.between(1, 3) }, () => ({
    quantity: draw.between(1, 12),
    each: sign * price(booking, 50, 6000),
    product: draw.pick(products),
  }));
  draft.text('AdjustmentType', type);
  draft.instant('PostedDate', booking.at);
  if (draw.once(2)) draft.words('StoreName', draw.pick(market.stores));
  draft.net(
    'AdjustmentAmount',
    lines.reduce((sum, { quantity, each }) => sum + quantity * each, 0),
  );
  // A reserve has no items, and as often as not it says so with an empty list.
  if (type === 'ReserveEvent' && draw.once(2)) {
    draft.beginList('AdjustmentItemList');
    draft.endList();
    return;
  }
  if (type === 'ReserveEvent') return;
  draft.beginList('AdjustmentItemList');
  for (const { quantity, each, product } of lines) {
    draft.beginElement();
    draft.text('Quantity', String(quantity));
    draft.memo('PerUnitAmount', each);
    draft.memo('TotalAmount', quantity * each);
    draft.words('SellerSKU', product.sku);
    if (!draw.once(3)) draft.text('FnSKU', product.fnSku);
    draft.words('ProductDescription', product.title);
    if (!draw.once(3)) draft.text('ASIN', product.asin);
    if (draw.once(3)) draft.text('TransactionNumber', draw.digits(12));
    draft.endElement();
  }
  draft.endList();
};

export const safetReimbursement: Writer = (booking, draft) => {
  const { draw } = booking;
  const lines = Array.from({ length: draw.between(1, 2) }, () => price(booking, 300, 8000));
  draft.instant('PostedDate', booking.at);
  draft.text('SAFETClaimId', `${draw.digits(5)}-${draw.digits(5)}-${draw.digits(7)}`);
  draft.net(
    'ReimbursedAmount',
    lines.reduce((sum, amount) => sum + amount, 0),
  );
  if (mostly(booking, 0)) draft.text('ReasonCode', 'SAFET-Reimbursement');
  draft.beginList('SAFETReimbursementItemList');
  for (const amount of lines) {
    draft.beginElement();
    charges(draft, 'itemChargeList', [['Principal', amount]], 'memo');
    if (mostly(booking, 1)) draft.words('productDescription', draw.pick(products).title);
    draft.text('quantity', String(draw.between(1, 3)));
    draft.endElement();
  }
  draft.endList();
};

export const networkCommingling: Writer = (booking, draft) => {
  const { draw } = booking;
  const tax = price(booking, 10, 500);
  draft.text('TransactionType', byTurn(booking, ['NetCo', 'ComminglingVAT']));
  draft.instant('PostedDate', booking.at);
  draft.text('NetCoTransactionID', draw.digits(12));
  if (mostly(booking, 0)) draft.text('SwapReason', 'Network swap');
  draft.text('ASIN', draw.pick(products).asin);
  if (mostly(booking, 1)) draft.text('MarketplaceId', booking.market.id);
  draft.net('TaxExclusiveAmount', -price(booking, 200, 4000));
  draft.net('TaxAmount', -tax);
};

export const adhocDisbursement: Writer = (booking, draft) => {
  draft.text('TransactionType', 'Disbursed to Amazon Gift Card balance');
  draft.instant('PostedDate', booking.at);
  draft.text('TransactionId', booking.draw.digits(14));
  draft.net('TransactionAmount', -price(booking, 1000, 90_000));
};

export const taxWithholding: Writer = (booking, draft) => {
  const base = price(booking, 5000, 900_000);
  const midnight = Math.floor(booking.at / dayMs) * dayMs;
  draft.instant('PostedDate', booking.at);
  draft.memo('BaseAmount', base);
  draft.net('WithheldAmount', share(booking, -base, 1));
  draft.beginObject('TaxWithholdingPeriod');
  draft.instant('StartDate', midnight - 30 * dayMs);
  draft.instant('EndDate', midnight);
  draft.endObject();
};

export const chargeRefund: Writer = (booking, draft) => {
  draft.instant('PostedDate', booking.at);
  draft.text('ReasonCode', 'SubscriptionFeeCorrection');
  if (mostly(booking, 0)) draft.words('ReasonCodeDescription', booking.draw.pick(descriptions.refundReason));
  charges(draft, 'ChargeRefundTransactions', [
    ['SubscriptionFee', price(booking, 3999, 3999)],
    ['Tax', price(booking, 0, 400)],
  ]);
};

export const failedDisbursement: Writer = (booking, draft) => {
  draft.text('FundsTransfersType', 'Refund');
  draft.text('TransferId', booking.draw.code(12));
  if (mostly(booking, 0)) draft.text('DisbursementId', booking.draw.code(12));
  draft.text('PaymentDisbursementType', byTurn(booking, ['CREDIT_CARD', 'BANK_ACCOUNT']));
  draft.text('Status', 'HARD_DECLINED');
  draft.net('TransferAmount', price(booking, 1000, 90_000));
  draft.instant('PostedDate', booking.at);
};
