-- Who was changed since: the index of addresses is made in this order, so that nobody reads all people to find one by an address.
CREATE INDEX operations_people_changed ON operations_people (updated_at, id);
