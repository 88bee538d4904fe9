-- The reason `channel-resting` is now called `circuit-open`.
UPDATE notifications SET reason_code = 'circuit-open' WHERE reason_code = 'channel-resting';
