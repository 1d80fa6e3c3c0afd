/** The screens besides the timeline; importing this registers them. */
export {};
