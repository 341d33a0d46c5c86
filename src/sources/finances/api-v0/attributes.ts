import type { EventRecord } from './event-records.js';

/** A column of texts that fields of an event give, of which those of one record are in the order of preference. */
interface Attribute {
  readonly column: string;
  /** Whether items have it as well: an amount then gets its item's text, else its event's. */
  readonly ofItems: boolean;
  /** @param record undefined for a list that isn't in the model */
  readonly fields: (record: EventRecord | undefined) => readonly string[];
}

const sellerOrderFields = ['SellerOrderId', 'MerchantOrderId'];

/** The attributes that become columns of `events` and `entries`: a new one is a line here, and a column of the table. */
export const attributes: readonly Attribute[] = [
  ofItems('sku', 'SellerSKU', 'SKU'),
  ofItems('fnsku', 'FnSKU', 'FulfillmentNetworkSKU'),
  ofItems('asin', 'ASIN', 'ParentASIN'),
  ofItems('order_item_id', 'OrderItemId', 'OrderAdjustmentItemId', 'RemovalShipmentItemId'),
  { column: 'amazon_order_id', ofItems: false, fields: orderFields },
  ofEvents('seller_order_id', ...sellerOrderFields),
  ofEvents('marketplace', 'MarketplaceName', 'MarketplaceId'),
  // No table has it: `marketplace_id` is derived from it and its neighbours.
  ofEvents('marketplace_code', 'MarketplaceId', 'MarketplaceCountryCode'),
  ofEvents('store', 'StoreName', 'SellerStoreName'),
];

function ofItems(column: string, ...fields: readonly string[]): Attribute {
  return { column, ofItems: true, fields: () => fields };
}

function ofEvents(column: string, ...fields: readonly string[]): Attribute {
  return { column, ofItems: false, fields: () => fields };
}

function orderFields(record: EventRecord | undefined): readonly string[] {
  const fields = (record?.orderIds ?? ['OrderId']).filter((field) => !sellerOrderFields.includes(field));
  // A record may gain this field in a later version of the model.
  return [...new Set(record === undefined ? ['AmazonOrderId', ...fields] : [...fields, 'AmazonOrderId'])];
}

/** Of an item. */
export const quantityFields = ['QuantityShipped', 'Quantity', 'AdjustedQuantity', 'quantity'];

/** Of an event, in the order of preference. */
export function dateFields(record: EventRecord | undefined): readonly string[] {
  const fields = ['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'];
  return [...new Set(record?.date === undefined ? fields : [record.date, ...fields])];
}
