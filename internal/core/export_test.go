package core

// Items counts the answers that are kept.
func (c *Cache) Items() int { return c.items.ItemCount() }
