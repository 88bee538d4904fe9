-- Whether the channel of a message is the one of its list: such a message moves when its list does.
ALTER TABLE notifications ADD COLUMN follows_list INTEGER NOT NULL DEFAULT 0;
UPDATE notifications SET follows_list = 1
WHERE status IN ('pending', 'retrying') AND list_name IS NOT NULL
  AND (channel = 'unrouted:list' OR channel = (SELECT l.channel FROM lists l WHERE l.name = notifications.list_name));
