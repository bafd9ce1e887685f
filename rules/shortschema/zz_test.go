package shortschema_test
import ("testing";"math/rand/v2";"encoding/json")
func TestZZ(t *testing.T){ r:=rand.New(rand.NewPCG(3,4)); n:=0
 for range 2000 { seed:=make([]byte,60); for i:=range seed {seed[i]=byte(r.UintN(256))}
  d:=drawer{choices:seed}; s,_:=json.Marshal(d.schema()); if checkSchema(t,string(s)) {n++} }
 t.Log(n) }
