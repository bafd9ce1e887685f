// Package eventlog reads the Events that Kanon emitted: about rules, about their parents, and those of spec.events.
//
//	log := eventlog.Log{Client: client, Namespace: "shop"}
//	events, version, err := log.List(ctx)
//	warnings := eventlog.Filter{Types: []string{"Warning"}}
//	for _, event := range events {
//		if warnings.Matches(event) {
//			fmt.Println(event.Last, event.Object, event.Message)
//		}
//	}
//
// An Event about a parent names its rule. [About] selects the Events of one rule: these, and those about the rule's
// origin and its record.
package eventlog
