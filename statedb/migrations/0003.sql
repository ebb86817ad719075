-- Commands that lack a fact, of which there are few, apart from the comments that wait, of which there may be thousands:
-- each batch looks for them on its items.
CREATE INDEX fates_undecided ON fates (item_id, place_at, place_fact, place_number)
    WHERE fate = 'inflight' AND step = 'need';
