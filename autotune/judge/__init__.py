"""The judge: pure functions of measurements that say what they show, and what they do not."""
