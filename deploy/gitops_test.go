package deploy_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"
)

// health is a case of a health check: an object, and what Argo CD and Flux make of it.
type health struct{ object, argo, flux string }

func ruleHealth() map[string]health {
	return map[string]health{
		"new":       {"{metadata: {generation: 1}, spec: {}}", "Progressing", "inProgress"},
		"edited":    {"{metadata: {generation: 2}, spec: {}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True', message: m}]}}", "Progressing", "inProgress"},
		"in force":  {"{metadata: {generation: 2}, spec: {}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', message: m}]}}", "Healthy", "current"},
		"refused":   {"{metadata: {generation: 2}, spec: {}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'False', message: m}]}}", "Degraded", "failed"},
		"suspended": {"{metadata: {generation: 2}, spec: {suspend: true}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', message: m}]}}", "Suspended", "current"},
	}
}

func parentHealth() map[string]health {
	return map[string]health{
		"new":         {object: "{metadata: {generation: 1}}", argo: "Progressing"},
		"edited":      {object: "{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True', message: m}]}}", argo: "Progressing"},
		"ready":       {object: "{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', message: m}]}}", argo: "Healthy"},
		"under way":   {object: "{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'False', message: m}, {type: Reconciling, status: 'True', message: m}]}}", argo: "Progressing"},
		"stalled":     {object: "{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: 'False', message: m}, {type: Stalled, status: 'True', message: m}]}}", argo: "Degraded"},
		"by its list": {object: "{metadata: {generation: 3}, status: {conditions: [{type: Ready, status: 'True', message: m, observedGeneration: 3}]}}", argo: "Healthy"},
		"suspended":   {object: "{metadata: {generation: 1, annotations: {kanon.dev/suspend: 'true'}}}", argo: "Suspended"},
	}
}

// The scripts that Argo CD runs tell the state of rules and of parents.
func TestArgoHealth(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("gitops/argocd-cm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	for key, cases := range map[string]map[string]health{
		"resource.customizations.health.kanon.dev_Rule":          ruleHealth(),
		"resource.customizations.health.shop.example.com_WebApp": parentHealth(),
	} {
		for name, tc := range cases {
			t.Run(key+"/"+name, func(t *testing.T) {
				t.Parallel()
				state := lua.NewState()
				defer state.Close()
				state.SetGlobal("obj", inLua(state, decode(t, tc.object)))
				if err := state.DoString(config.Data[key]); err != nil {
					t.Fatal(err)
				}
				result, ok := state.Get(-1).(*lua.LTable)
				if !ok {
					t.Fatalf("the script returns %v", state.Get(-1))
				}
				if got := result.RawGetString("status").String(); got != tc.argo || result.RawGetString("message") == lua.LNil {
					t.Errorf("the status is %s with message %v, want %s", got, result.RawGetString("message"), tc.argo)
				}
			})
		}
	}
}

// decode reads an object in YAML.
func decode(t *testing.T, text string) any {
	t.Helper()
	var object any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// inLua returns a value of JSON as Argo CD gives it to a script.
func inLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for name, field := range value {
			table.RawSetString(name, inLua(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(inLua(state, item))
		}
		return table
	case string:
		return lua.LString(value)
	case float64:
		return lua.LNumber(value)
	case bool:
		return lua.LBool(value)
	default:
		return lua.LNil
	}
}

// The expressions that Flux evaluates tell the state of rules. Flux takes the first of failed, inProgress and current that is
// true, after inProgress was false.
func TestFluxHealth(t *testing.T) {
	t.Parallel()
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []map[string]string `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	text, err := os.ReadFile("gitops/flux-kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("status", cel.DynType), cel.Variable("spec", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	exprs := kustomization.Spec.HealthCheckExprs[0]
	for name, tc := range ruleHealth() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, _ := decode(t, tc.object).(map[string]any)
			if object["status"] == nil {
				object["status"] = map[string]any{}
			}
			for _, state := range []string{"inProgress", "failed", "current"} {
				program, issues := env.Compile(exprs[state])
				if issues.Err() != nil {
					t.Fatal(issues.Err())
				}
				run, err := env.Program(program)
				if err != nil {
					t.Fatal(err)
				}
				val, _, err := run.Eval(object)
				if err != nil {
					t.Fatalf("%s: %v", state, err)
				}
				if val.Value() == true {
					if state != tc.flux {
						encoded, _ := json.Marshal(object)
						t.Errorf("%s is %s, want %s", encoded, state, tc.flux)
					}
					return
				}
			}
			t.Error("no state is true")
		})
	}
}
