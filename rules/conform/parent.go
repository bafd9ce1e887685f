package conform

import (
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
)

// Parent checks the status and conditions that a rule reports on its parents against their kind.
type Parent struct {
	*reporting.Reporter
	Template Template
	Rule     *syntax.Rule
	// Schema is the schema of the kind; nil if it is not known.
	Schema *openapi.Schema
	// Subresource is true if the kind has a status subresource.
	Subresource bool
}

// CheckStatus compares spec.status with the schema of the parent's status. Call it after the status was compiled.
func (p *Parent) CheckStatus() {
	n, gvk, s := p.Rule.Status, p.Rule.Parent.GVK, p.Schema
	lacks := s != nil && s.Type == openapi.Object && !s.Open && s.Fields["status"] == nil
	switch {
	case syntax.IsBuiltIn(gvk.Group) && (lacks || !p.Subresource):
		p.ReportNode(n, diagnostic.CodeNoStatus, "a %s has no status", gvk.Kind)
		return
	case lacks:
		p.ReportNode(n, diagnostic.CodeNoStatus, "the schema of %s has no status, so the API server would drop this", gvk.Kind).
			WithHint("add status to the schema in the CustomResourceDefinition")
		return
	case !p.Subresource:
		p.ReportNode(n, diagnostic.CodeNoSubresource, "%s has no status subresource, so this is written to the object itself, and whoever changes the object can change it", gvk.Kind).
			WithHint("add subresources: {status: {}} to the version in the CustomResourceDefinition")
	}
	if s != nil && s.Fields["status"] != nil {
		p.Template.Check(n, gvk.Kind, s, "status")
	}
}

// CheckConditions warns of spec.conditions that the engine cannot write.
func (p *Parent) CheckConditions() {
	if len(p.Rule.Conditions) == 0 {
		return
	}
	gvk, s := p.Rule.Parent.GVK, p.Schema
	pos := p.Rule.Conditions[0].Pos
	if syntax.IsBuiltIn(gvk.Group) && gvk.Kind != "" {
		p.Report(pos, diagnostic.CodeNoConditions, "%s is built into Kubernetes, and Kanon writes no conditions there", gvk.Kind).
			WithHint("report it with spec.events")
		return
	}
	if s == nil || s.Type != openapi.Object || s.Open {
		return
	}
	path := "status"
	if status := s.Fields["status"]; status != nil {
		path = "status.conditions"
		if status.Schema.Type != openapi.Object || status.Schema.Open || status.Schema.Fields["conditions"] != nil {
			return
		}
	} else if p.Rule.Status != nil {
		return // CheckStatus reports it
	}
	p.Report(pos, diagnostic.CodeNoConditions, "the schema of %s has no %s, so the conditions are not written", gvk.Kind, path).
		WithHint("add status.conditions to the schema in the CustomResourceDefinition")
}
