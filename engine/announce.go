package engine

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kanon.dev/kanon/rules"
)

// announced is what is known of one of spec.events for one parent: what it said
// last, with rules.EventUnknown as long as nothing is known.
type announced = rules.Event

// announce emits the rule's own Events: each when its when turns true, and when
// its text changes. Of a parent that was there before the rule was started, the
// first look only takes in how things are, so that neither a restart nor a new
// rule tells of what happened long ago.
func (p *pass) announce() {
	said := p.outcome.Events
	if p.memory == nil || len(said) == 0 {
		return
	}
	if len(p.memory.events) != len(said) {
		p.memory.events = make([]announced, len(said))
		if !p.op.follows(p.parent.GetCreationTimestamp().Time) {
			for i := range p.memory.events {
				p.memory.events[i].State = rules.EventOff
			}
		}
	}
	for i, event := range said {
		before := p.memory.events[i]
		if event.State == rules.EventUnknown {
			continue // it counts as it did before
		}
		p.memory.events[i] = event
		p.memory.events[i].Message = strings.Clone(event.Message) // it may be a part of the parent's text, which it outlives
		if event.State == rules.EventOn && before.State != rules.EventUnknown && event != before {
			p.options.Recorder.Event(p.parent, eventType(event), event.Reason, event.Message)
		}
	}
}

// eventType is Normal unless the event says Warning.
func eventType(event rules.Event) string {
	if event.Type == corev1.EventTypeWarning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// follows tells whether the rule was started after an object was made. The API
// server tells that time in whole seconds; within one second the object counts as
// the later one.
func (op *operator) follows(created time.Time) bool {
	return created.Before(op.started.Truncate(time.Second))
}
