"""Who is on the forum: everybody of the world under their names, and others under names they chose."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from types import MappingProxyType

from pytest_webarena.embedded.world import PEOPLE

__all__ = ["DEFAULT_USER", "HANDLES", "PASSWORDS", "right_password"]

DEFAULT_USER = "mara.linden"

PASSWORDS: Mapping[str, str] = MappingProxyType({person.username: person.password for person in PEOPLE})
"""Those who can sign in; the others only have written something."""

_HANDLES = """
    tern_and_tide SlateRoofSid brineshine oatcake42 Pell_Mell wendwanderer latebus12 TheOtherThea mossgatherer
    quietcarriage knotweed_ned HallOfWeirs bobbin_lace sourdough_sal kelderkid fogsignal Ashpit drystone_dot
    nine_elms_nan tarn_swimmer ropewalk_rob curlewcall seven_arches cold_pike_ken ferrycat Marlinspike
    pippin_pete lamplit_lou grist_and_grain Old_Mortar hedgelayer brass_monkey_bo cinderpath rainy_tuesday
    nettle_soup loom_weight Barrowman two_left_boots saltmarsh_sue PlatformTwo gooseberry_fool wickerman_will
    tidewrack SignalAtDanger hob_and_kettle madder_than_you fellrunner_fi teasel_tom barnacle_bill_2 inkblot_ivy
    Windlass cuckoo_pint threadbare_theo harbour_hal rook_and_pawn dovecote_di MillpondMo thatch_and_thistle
    hazel_hurdle Plumb_Bob lost_on_bus_7 chalk_horse bilge_and_bailer treacle_tart snecklifter orchid_counter
    wetsuit_wendy hopyard_hugh Cobbler_Col vespers_vi scree_and_bracken inglenook_in jackdaw_jo Upwind_Ursula
    flotsam_flo penny_farthing_pa heathercroft ratchet_and_pawl gander_gus Tollhouse seedpotato slow_puncture
    bell_rope_bea Larchwood_Len midge_bitten sluicegate burr_elm plumduff NorthQuayNed kiln_time stile_sitter
    crumpet_club the_spare_oar eiderdown_ed pickled_walnut beacon_fire_bev cartwheel_cal Otterwatch_O thimblerig
    half_past_hal yarnover_yas gutter_and_gale Muck_and_Magic sally_lunnet rye_and_dry viaduct_viv
    clothcap_cliff duckboard_dee splitlink_sam bramble_jelly night_heron_n coppice_kate longcase_lars russet_rae
    Gansey_Gil fiddlehead_fay bootlace_ben wrackline shortcrust_shay Kettle_Chapel_K pond_dipper mainspring_max
    fleece_first tallow_and_wick whinberry beck_and_call spindle_spin cloudberry_cy turnstone_tess greenfinch_g
    stopcock_stu wheelbarrow_race sandmartin_m compost_corner euphonium_eve spring_tide_s cattlegrid
    ledger_line_lee sparrowhawk_sp Anvil_Annie quoits_and_co dry_dock_doc nutmeg_nel wagtail_wag eel_trap_eli
    dawn_chorus_d catkin_cat apron_strings Rafter_Rae flat_cap_fred third_slip peat_brown saddlebag_sol
    crosscut_cy tinderbox_tia low_water_lu mizzle_and_murk harrow_and_hoe trig_point_t rosehip_roz bandstand_baz
    candlewick_c wayfarer_w bellwether_b moth_trap_moe split_slate cider_vinegar_v
"""

HANDLES = tuple(_HANDLES.split())


def right_password(username: str, password: str) -> bool:
    """Whether the two belong together."""
    expected = PASSWORDS.get(username)
    return expected is not None and hmac.compare_digest(expected.encode(), password.encode())
