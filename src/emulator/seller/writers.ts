import type { EventListName } from '../../sources/finances/model/records.js';
import {
  adhocDisbursement,
  adjustment,
  chargeRefund,
  debtRecovery,
  failedDisbursement,
  loanServicing,
  networkCommingling,
  safetReimbursement,
  taxWithholding,
} from './account-events.js';
import type { Writer } from './booking.js';
import {
  capacityReservation,
  couponPayment,
  imagingServices,
  productAds,
  reviewEnrollment,
  sellerDeal,
  serviceFee,
  valueAddedService,
} from './fee-writers.js';
import {
  affordabilityExpense,
  affordabilityReversal,
  ebtRefund,
  payWithAmazon,
  providerCredit,
  rental,
  retrocharge,
  tdsReimbursement,
  trialShipment,
} from './order-events.js';
import { liquidation, removalAdjustment, removalShipment } from './removal-writers.js';
import { claim, refund, settlement, shipment } from './shipment-events.js';

/** Who writes the events of each list. */
export const writers: Readonly<Record<EventListName, Writer>> = {
  ShipmentEventList: shipment,
  ShipmentSettleEventList: settlement,
  RefundEventList: refund,
  GuaranteeClaimEventList: claim,
  EBTRefundReimbursementOnlyEventList: ebtRefund,
  ChargebackEventList: claim,
  PayWithAmazonEventList: payWithAmazon,
  ServiceProviderCreditEventList: providerCredit,
  RetrochargeEventList: retrocharge,
  RentalTransactionEventList: rental,
  ProductAdsPaymentEventList: productAds,
  ServiceFeeEventList: serviceFee,
  SellerDealPaymentEventList: sellerDeal,
  DebtRecoveryEventList: debtRecovery,
  LoanServicingEventList: loanServicing,
  AdjustmentEventList: adjustment,
  SAFETReimbursementEventList: safetReimbursement,
  SellerReviewEnrollmentPaymentEventList: reviewEnrollment,
  FBALiquidationEventList: liquidation,
  CouponPaymentEventList: couponPayment,
  ImagingServicesFeeEventList: imagingServices,
  NetworkComminglingTransactionEventList: networkCommingling,
  AffordabilityExpenseEventList: affordabilityExpense,
  AffordabilityExpenseReversalEventList: affordabilityReversal,
  RemovalShipmentEventList: removalShipment,
  RemovalShipmentAdjustmentEventList: removalAdjustment,
  TrialShipmentEventList: trialShipment,
  TDSReimbursementEventList: tdsReimbursement,
  AdhocDisbursementEventList: adhocDisbursement,
  TaxWithholdingEventList: taxWithholding,
  ChargeRefundEventList: chargeRefund,
  FailedAdhocDisbursementEventList: failedDisbursement,
  ValueAddedServiceChargeEventList: valueAddedService,
  CapacityReservationBillingEventList: capacityReservation,
};
