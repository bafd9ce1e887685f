package plane

import (
	"context"
	"fmt"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// schemaPrefix begins the names of our FlowSchemas, which go on with a verb and a
// resource.
const schemaPrefix = "kanonbench-"

// Precedences of FlowSchemas: those of single resources come before those of all
// others, and both before the API server's own for ServiceAccounts.
const (
	precedenceOne  = 100
	precedenceRest = 200
)

// The resource names of counts that stand for more than one.
const (
	OtherResources = "other"       // all that are not counted by themselves
	NonResources   = "no-resource" // paths such as /openapi/v3
)

func verbs() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
}

// Parents and ParentsStatus are the resource names of counts of all kinds of parents.
const (
	Parents       = "apps"
	ParentsStatus = "apps/status"
)

func resources() []string {
	return []string{Parents, ParentsStatus, "configmaps", "services", "deployments", "events"}
}

// members are the resources that count as one.
func members(resource string) []string {
	base, subresource, isStatus := strings.Cut(resource, "/")
	if base != Parents {
		return []string{resource}
	}
	all := make([]string, app.MaxKinds)
	for i := range all {
		all[i] = app.Kind(i).Resource()
		if isStatus {
			all[i] += "/" + subresource
		}
	}
	return all
}

// makeFlowSchemas makes a FlowSchema for each verb and resource of the engine.
func (p *Plane) makeFlowSchemas(ctx context.Context) error {
	for _, verb := range verbs() {
		for _, resource := range resources() {
			err := p.makeFlowSchema(ctx, verb, resource, precedenceOne, ofResources(verb, members(resource)))
			if err != nil {
				return err
			}
		}
		if err := p.makeFlowSchema(ctx, verb, OtherResources, precedenceRest, ofResources(verb, []string{"*"})); err != nil {
			return err
		}
	}
	rules := flowcontrolv1.PolicyRulesWithSubjects{
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
	}
	return p.makeFlowSchema(ctx, "get", NonResources, precedenceRest, rules)
}

func ofResources(verb string, resources []string) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
		Verbs: []string{verb}, APIGroups: []string{"*"}, Resources: resources,
		ClusterScope: true, Namespaces: []string{"*"},
	}}}
}

func (p *Plane) makeFlowSchema(ctx context.Context, verb, resource string, precedence int32,
	rules flowcontrolv1.PolicyRulesWithSubjects,
) error {
	rules.Subjects = []flowcontrolv1.Subject{{
		Kind:           flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: engineNamespace, Name: engineAccount},
	}}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: schemaName(verb, resource)},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "exempt"},
			MatchingPrecedence:         precedence,
			Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{rules},
		},
	}
	if _, err := p.core.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create FlowSchema: %w", err)
	}
	return nil
}

// schemaName names the FlowSchema of a verb and a resource; a name has no slash.
func schemaName(verb, resource string) string {
	return schemaPrefix + verb + "-" + strings.ReplaceAll(resource, "/", ".")
}

// countOf is the count that a FlowSchema stands for.
func countOf(schema string) (Request, bool) {
	rest, ours := strings.CutPrefix(schema, schemaPrefix)
	verb, resource, both := strings.Cut(rest, "-")
	return Request{Verb: verb, Resource: strings.ReplaceAll(resource, ".", "/")}, ours && both
}
