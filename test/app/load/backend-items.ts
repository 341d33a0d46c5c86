import type { DatedItem } from '../../serve/http/array-backend.js';

/** A shipment of an order, and of a settlement where one is given. */
export function shipment(at: string, order: string, price = '12.34', group?: string): DatedItem {
  const money = `{"CurrencyCode":"USD","CurrencyAmount":${price}}`;
  const json =
    `{"AmazonOrderId":"${order}","PostedDate":"${at}","ShipmentItemList":[{"SellerSKU":"sku",` +
    `"QuantityShipped":1,"ItemChargeList":[{"ChargeType":"Principal","ChargeAmount":${money}}]}]}`;
  return { at: Date.parse(at), list: 'ShipmentEventList', json, order, ...(group !== undefined && { group }) };
}

/** A settlement that began, and closed where an end is given; its total may still be to come. */
export function settlement(id: string, start: string, end?: string, hasTotal = true): DatedItem {
  const total = hasTotal ? ',"OriginalTotal":{"CurrencyCode":"USD","CurrencyAmount":12.34}' : '';
  const closed =
    end === undefined
      ? '"ProcessingStatus":"Open"'
      : `"ProcessingStatus":"Closed","FinancialEventGroupEnd":"${end}"${total}`;
  const json = `{"FinancialEventGroupId":"${id}","FinancialEventGroupStart":"${start}",${closed}}`;
  return { at: Date.parse(start), list: '', json, group: id };
}
