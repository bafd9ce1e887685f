// Package rollout decides which items of a list may be created and updated now.
//
// It is the rollout of a child with forEach. The decision depends only on what exists: which items were applied as they are rendered
// now, and which of them are ready. So a rollout continues after a restart, and rolls back when the rule or its input does:
//
//	decision := rollout.Decide(rollout.Policy{MaxUnavailable: 1}, []rollout.Item{
//		{Name: "web-0", Exists: true, Outdated: true},
//		{Name: "web-1", Exists: true, Outdated: true},
//	}, rollout.Gap{})
//	// decision.Steps is {Hold, Proceed}: items are updated from the last to the first
//
// Creations and updates are decided separately. With Ordered, an item is created once all items before it are ready (rollout.go).
// Updates go from the last item to the first, as long as fewer than MaxUnavailable items are unready (update.go).
package rollout
