import { FinancesApi } from '@sp-api-sdk/finances-api-v0';
import axios, { isAxiosError } from 'axios';
import { test } from 'vitest';
import { expectWholeLake, patiently, type Asked, type Payload } from './whole-lake.js';

test('@sp-api-sdk/finances-api-v0 reads all of a lake from its replica', () =>
  expectWholeLake((replica) => {
    const instance = axios.create();
    const api = new FinancesApi(undefined, replica.url, instance);
    const send = async (asked: Asked, accessToken: string): Promise<Payload> => {
      const { operation, subject, after, before, pageSize: maxResultsPerPage, token: nextToken } = asked;
      const page = { maxResultsPerPage, ...(nextToken !== undefined && { nextToken }) };
      const headers = { 'x-amz-access-token': accessToken };
      switch (operation) {
        case 'ListFinancialEventGroups': {
          const dates = { financialEventGroupStartedAfter: after, financialEventGroupStartedBefore: before };
          return (await api.listFinancialEventGroups({ ...dates, ...page }, { headers })).data.payload ?? {};
        }
        case 'ListFinancialEvents': {
          const dates = { postedAfter: after, postedBefore: before };
          return (await api.listFinancialEvents({ ...dates, ...page }, { headers })).data.payload ?? {};
        }
        case 'ListFinancialEventsByGroupId': {
          const parameters = { eventGroupId: subject, ...page };
          return (await api.listFinancialEventsByGroupId(parameters, { headers })).data.payload ?? {};
        }
        case 'ListFinancialEventsByOrderId': {
          const parameters = { orderId: subject, ...page };
          return (await api.listFinancialEventsByOrderId(parameters, { headers })).data.payload ?? {};
        }
      }
    };
    return patiently(replica, (error) => (isAxiosError(error) ? error.response?.status : undefined), send);
  }));
