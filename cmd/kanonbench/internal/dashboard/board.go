package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Board is a Grafana dashboard, with the fields that are drawn.
type Board struct {
	Title  string  `json:"title"`
	Panels []Panel `json:"panels"`
}

// Panel is one diagram.
type Panel struct {
	Title       string `json:"title"`
	Type        string `json:"type"`
	Grid        Grid   `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				Stacking struct {
					Mode string `json:"mode"`
				} `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []Target `json:"targets"`
}

// Grid is the position of a panel in Grafana's grid, which is 24 units wide.
type Grid struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

// Target is a query, and the names of its lines.
type Target struct {
	Query  string `json:"expr"`
	Legend string `json:"legendFormat"`
}

// unit is the unit of the panel's y axis. stacked reports whether its lines are stacked.
func (p *Panel) unit() string  { return p.FieldConfig.Defaults.Unit }
func (p *Panel) stacked() bool { return p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" }

// Read reads a dashboard in Grafana's export format. It returns an error if a panel cannot be drawn.
func Read(from io.Reader) (*Board, error) {
	board := &Board{}
	if err := json.NewDecoder(from).Decode(board); err != nil {
		return nil, fmt.Errorf("read dashboard: %w", err)
	}
	if len(board.Panels) == 0 {
		return nil, errors.New("the dashboard has no panels")
	}
	for _, panel := range board.Panels {
		switch _, known := formats[panel.unit()]; {
		case panel.Type != "timeseries":
			return nil, fmt.Errorf("panel %q: type %q is not drawn, only timeseries", panel.Title, panel.Type)
		case !known:
			return nil, fmt.Errorf("panel %q: unit %q is not known", panel.Title, panel.unit())
		case panel.Grid.W < 1 || panel.Grid.H < 1 || panel.Grid.X+panel.Grid.W > gridWidth:
			return nil, fmt.Errorf("panel %q: no place in a grid of %d columns: %+v", panel.Title, gridWidth, panel.Grid)
		case len(panel.Targets) == 0:
			return nil, fmt.Errorf("panel %q has no queries", panel.Title)
		}
	}
	return board, nil
}
