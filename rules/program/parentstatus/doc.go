// Package parentstatus renders what a rule reports on its parent: the status, the conditions and the Events.
//
// A part that waits or failed does not stop the others: a leaf of the status and a condition keep the parent's value, and an Event keeps
// its last state. The problems go to the caller:
//
//	status, held := parentstatus.Render(rule.Status, scope, parent["status"], func(p *template.Problem) {
//		problems = append(problems, p) // status.url: children.service.spec.clusterIP does not exist yet
//	})
//
// status.go renders the status, conditions.go conditions, events.go Events. The engine
// reports them (engine/status, engine/conditions).
package parentstatus
