// Package parentstatus renders what a rule reports on its parent: the status, the conditions and the Events.
//
// Each part stands for itself. One that waits or failed does not stop the others: a leaf of the status keeps the value that
// the parent has, a condition is held, an Event counts as it did before. The problems go to the caller:
//
//	status, held := parentstatus.Render(rule.Status, scope, parent["status"], func(p *template.Problem) {
//		problems = append(problems, p) // status.url: children.service.spec.clusterIP does not exist yet
//	})
//
// status.go renders the status, conditions.go conditions, events.go Events. What becomes of them in the cluster is up to the engine
// (engine/status, engine/conditions).
package parentstatus
