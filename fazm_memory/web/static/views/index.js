/** The screens besides the timeline; importing this registers them. */

import { registerView } from "../registry.js";
import "./compare.js";
import "./context.js";
import "./settings.js";

registerView("context", "fm-context", "Context");
registerView("compare", "fm-compare", "Compare");
registerView("settings", "fm-settings", "Settings");
